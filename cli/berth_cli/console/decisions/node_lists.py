"""Every node's verdict of a stored decision: it has a number for each node of its state, and a checksum of their
names."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from berth.decisions.repeatable import FIRST_STATUS, NOT_ASKED, PASSES, checksum_of, decoded
from berth.scheduling.snapshot.snapshot import Snapshot

MOST_LISTS = 32
"""Of names, the newest: a list ends when a node comes or goes."""

SCORING_VERB = "prioritize"


@dataclass(frozen=True, slots=True)
class StoredVerdicts:
    """A number for each node of the state, and then for each unknown one: see `berth.decisions.repeatable`. Its other
    parts may be large, and are not kept."""

    checksum: str
    unknown: Sequence[str]
    values: Sequence[int]
    statuses: Sequence[Sequence[str]]


def read_verdicts(stored: bytes) -> StoredVerdicts | None:
    """None for what cannot be read, such as one of a later release."""
    try:
        found = decoded(stored)
    except (ValueError, KeyError):
        return None
    return None if found is None else StoredVerdicts(found.checksum, found.unknown, found.values, found.statuses)


class NodeLists:
    """For one thread at a time."""

    def __init__(self) -> None:
        self._by_checksum: OrderedDict[str, Sequence[str]] = OrderedDict()
        self._last: Set[str] = frozenset()

    def note(self, snapshot: Snapshot) -> None:
        """Decisions on this state, and on others with the same nodes, can be read from now on."""
        if snapshot.nodes.keys() == self._last:
            return
        self._last = frozenset(snapshot.nodes)
        ordered = sorted(self._last)
        checksum = checksum_of(ordered)
        self._by_checksum[checksum] = ordered
        self._by_checksum.move_to_end(checksum)
        while len(self._by_checksum) > MOST_LISTS:
            self._by_checksum.popitem(last=False)

    def verdicts(self, verb: str, stored: StoredVerdicts) -> Mapping[str, object] | None:
        """The `rejected`, `passed` and `scores` of a decision; None where its nodes are not known."""
        ordered = self._ordered(stored)
        if ordered is None:
            return None
        names = [*ordered, *stored.unknown]
        return _scores(names, stored) if verb == SCORING_VERB else _verdicts(names, stored)

    def judges(self, node: str, stored: StoredVerdicts) -> bool:
        """Whether a decision has a verdict or a score of this node; not where its nodes are not known."""
        ordered = self._ordered(stored)
        if ordered is None:
            return False
        at = bisect_left(ordered, node)
        if at < len(ordered) and ordered[at] == node:
            return stored.values[at] != NOT_ASKED
        return node in stored.unknown

    def _ordered(self, stored: StoredVerdicts) -> Sequence[str] | None:
        """The nodes of its state, in order."""
        ordered = self._by_checksum.get(stored.checksum)
        has_all = ordered is not None and len(ordered) + len(stored.unknown) == len(stored.values)
        return ordered if has_all else None


def _scores(names: Sequence[str], found: StoredVerdicts) -> Mapping[str, object]:
    asked = [(name, value) for name, value in zip(names, found.values, strict=True) if value != NOT_ASKED]
    return {
        "rejected": [],
        "passed": [name for name, _ in asked],
        "scores": [{"node": name, "score": value - PASSES} for name, value in asked],
    }


def _verdicts(names: Sequence[str], found: StoredVerdicts) -> Mapping[str, object]:
    by_value: dict[int, list[str]] = {}
    for name, value in zip(names, found.values, strict=True):
        by_value.setdefault(value, []).append(name)
    rejected = []
    for value, nodes in sorted(by_value.items(), key=lambda item: -len(item[1])):
        if value >= FIRST_STATUS:
            _, plugin, reason = found.statuses[value - FIRST_STATUS]
            rejected.append({"reason": reason, "plugin": plugin, "count": len(nodes), "nodes": nodes})
    return {
        "rejected": rejected,
        "passed": by_value.get(PASSES, []),
        "scores": [],
    }
