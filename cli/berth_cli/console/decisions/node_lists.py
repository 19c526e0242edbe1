"""Every node's verdict of a stored decision: it has a number for each node of its state, and a checksum of their
names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set

from berth.decisions.repeatable import FIRST_STATUS, NOT_ASKED, PASSES, RepeatableDecision, checksum_of, decoded
from berth.scheduling.snapshot.snapshot import Snapshot

MOST_LISTS = 32
"""Of names, the newest: a list ends when a node comes or goes."""

SCORING_VERB = "prioritize"


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

    def verdicts(self, verb: str, stored: bytes) -> Mapping[str, object] | None:
        """The `rejected`, `passed` and `scores` of a decision; None where its nodes are not known. stored: as
        `repeatable.decoded` takes it."""
        try:
            found = decoded(stored)
        except (ValueError, KeyError):
            return None
        ordered = None if found is None else self._by_checksum.get(found.checksum)
        if found is None or ordered is None:
            return None
        names = [*ordered, *found.unknown]
        if len(names) != len(found.values):
            return None
        return _scores(names, found) if verb == SCORING_VERB else _verdicts(names, found)


def _scores(names: Sequence[str], found: RepeatableDecision) -> Mapping[str, object]:
    asked = [(name, value) for name, value in zip(names, found.values, strict=True) if value != NOT_ASKED]
    return {
        "rejected": [],
        "passed": [name for name, _ in asked],
        "scores": [{"node": name, "score": value - PASSES} for name, value in asked],
    }


def _verdicts(names: Sequence[str], found: RepeatableDecision) -> Mapping[str, object]:
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
