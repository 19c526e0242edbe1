"""Verdicts of a profile's filters on the nodes of a snapshot: one byte per node, computed on first use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from threading import Lock
from typing import Self, TypeVar

from berth.scheduling.framework.plugin import ClusterFilter
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.framework.status import SUCCESS, Status, unresolvable
from berth.scheduling.snapshot.node_positions import UNKNOWN, NodeRefs, picked
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

V = TypeVar("V")

NOT_IN_CACHE = unresolvable("", "node(s) are not in the extender's cache yet")
"""For a name the cache has never seen: a node that joined a moment ago, or another cluster's."""


class Rejected(Mapping[str, Status]):
    """The statuses of rejected nodes, by name. names: in the request's order."""

    __slots__ = ("_by_name", "_codes", "names", "statuses")

    def __init__(self, names: list[str], codes: Sequence[int], statuses: Sequence[Status]) -> None:
        """names: each once, with a code for each. statuses: by code."""
        self.names, self._codes, self.statuses = names, codes, statuses
        self._by_name: dict[str, Status] | None = None

    @classmethod
    def of(cls, statuses: Mapping[str, Status]) -> Rejected:
        """The same from a dictionary."""
        return cls(list(statuses), range(len(statuses)), list(statuses.values()))

    @property
    def messages(self) -> dict[str, str]:
        """The reasons as the pod's event shows them, by name."""
        return dict(zip(self.names, self.for_each_node([status.message for status in self.statuses]), strict=True))

    def for_each_node(self, values: Sequence[V]) -> tuple[V, ...]:
        """The value of each node, in the order of `names`, from one value for each of `statuses`."""
        return picked(values, self._codes)

    def __getitem__(self, name: str) -> Status:
        if self._by_name is None:
            self._by_name = dict(zip(self.names, picked(self.statuses, self._codes), strict=True))
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


NONE_REJECTED = Rejected([], (), ())


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Which nodes of a request pass, and why the others do not. mask: a byte for each node, 0 for the rejected ones."""

    nodes: NodeRefs
    rejected: Rejected
    mask: bytes

    @property
    def feasible_names(self) -> list[str]:
        """The names of the nodes that pass."""
        return list(compress(self.nodes.names, self.mask)) if self.rejected else self.nodes.names

    @property
    def feasible(self) -> NodeRefs:
        """The nodes that pass."""
        return self.nodes.selected(self.mask) if self.rejected else self.nodes

    def with_statuses(self, statuses: Mapping[str, Status]) -> FilterResult:
        """The same with other statuses of some of the nodes."""
        found = {name: statuses.get(name) or self.rejected.get(name, SUCCESS) for name in self.nodes}
        rejected = {name: status for name, status in found.items() if status is not SUCCESS}
        mask = bytes(name not in rejected for name in self.nodes)
        return FilterResult(self.nodes, Rejected.of(rejected), mask)


OPEN, PASSES, ABSENT, RARE = 0, 1, 2, 255
"""Not judged yet; SUCCESS; NOT_IN_CACHE; any status at all."""


class Codes:
    """The different statuses that were given, with a code for each. It only grows; later snapshots share it."""

    __slots__ = ("_adding", "by_identity", "statuses")

    def __init__(self) -> None:
        self.statuses = [NOT_IN_CACHE, SUCCESS, NOT_IN_CACHE]
        self.by_identity = {id(SUCCESS): PASSES, id(NOT_IN_CACHE): ABSENT}
        self._adding = Lock()

    def of(self, status: Status) -> int:
        """Its code; RARE, which stands for any, where there are too many."""
        # Plugins give the same few objects again and again; to hash a Status takes ten times as long.
        return self.by_identity.get(id(status)) or self._added(status)

    def _added(self, status: Status) -> int:
        with self._adding:
            if status in self.statuses:
                return self.statuses.index(status)
            if len(self.statuses) == RARE:
                return RARE
            self.statuses.append(status)
            return self.by_identity.setdefault(id(status), len(self.statuses) - 1)


_PASSED = bytes((PASSES,))
_IS_PASSED = bytes(code == PASSES for code in range(256))
_IS_DROPPED = bytes(code != PASSES for code in range(256))


class Verdicts(DerivedFromSnapshot, ABC):
    """Of the nodes of one snapshot, for pods of one shape. Threads may share it: what two judge, they judge alike."""

    def __init__(self, snapshot: Snapshot, codes: Codes) -> None:
        super().__init__(snapshot)
        self._codes, self._positions = codes, snapshot.positions
        self._known = bytearray(self._positions.size)
        self._known[UNKNOWN] = ABSENT
        self._rare: dict[int, Status] = {}

    def keep(self, earlier: Self, open_again: Iterable[int]) -> None:
        """What an earlier snapshot's verdicts say, except at these positions. In other codes, it is not understood."""
        if earlier._codes is not self._codes:
            return
        # The bytes are copied first: a rare verdict is there before its byte says so.
        self._known = earlier._known.ljust(self._positions.size, b"\0")
        self._rare = earlier._rare.copy()
        for position in open_again:
            self._known[position] = OPEN
        self._known[UNKNOWN] = ABSENT

    def __len__(self) -> int:
        """How many nodes have been judged."""
        return len(self._known) - self._known.count(OPEN) - 1

    def __getitem__(self, name: str) -> Status:
        position = self._positions[name]
        if self._known[position] == OPEN:
            self._judge((position,))
        return self._status(position)

    def filter_nodes(self, located: NodeRefs) -> FilterResult:
        """The verdicts on all nodes of a request."""
        codes = self.codes_at(located.positions)
        passed = codes.translate(_IS_PASSED)
        if codes.count(PASSES) == len(codes):
            return FilterResult(located, NONE_REJECTED, passed)
        dropped = codes.translate(_IS_DROPPED)
        names = list(compress(located.names, dropped))
        if RARE in codes:
            positions = compress(located.positions, dropped)
            return FilterResult(
                located, Rejected.of(dict(zip(names, map(self._status, positions), strict=True))), passed
            )
        return FilterResult(located, Rejected(names, codes.translate(None, _PASSED), self._codes.statuses), passed)

    def codes_at(self, positions: Sequence[int]) -> bytes:
        """The codes of these nodes, none of them open."""
        codes = bytearray(picked(self._known, positions))
        unjudged = []
        index = codes.find(OPEN)
        while index >= 0:
            unjudged.append(index)
            index = codes.find(OPEN, index + 1)
        if unjudged:
            self._judge([positions[index] for index in unjudged])
            for index in unjudged:
                codes[index] = self._known[positions[index]]
        return bytes(codes)

    @abstractmethod
    def _judge(self, positions: Sequence[int]) -> None:
        """Work out the verdicts on these nodes of the snapshot, and `_record` them."""

    def _record(self, position: int, status: Status) -> None:
        code = self._codes.of(status)
        if code == RARE:
            self._rare[position] = status
        self._known[position] = code

    def _status(self, position: int) -> Status:
        code = self._known[position]
        return self._rare[position] if code == RARE else self._codes.statuses[code]


class LocalVerdicts(Verdicts):
    """Those of the filters that look at one node."""

    def __init__(self, filters: LocalFilters, snapshot: Snapshot, codes: Codes) -> None:
        super().__init__(snapshot, codes)
        self.filters = filters

    def carried_to(self, snapshot: Snapshot, changed: Iterable[int]) -> LocalVerdicts:
        """What still holds in a later snapshot, in which those who stand at these positions are not what they were."""
        later = LocalVerdicts(self.filters, snapshot, self._codes)
        later.keep(self, changed)
        return later

    def _judge(self, positions: Sequence[int]) -> None:
        filters, roster = self.filters, self.snapshot.nodes.standing
        plain = filters.rejected is None and filters.node_names is None
        known, codes = self._known, self._codes.by_identity
        for position in positions:
            node = roster[position]
            status = SUCCESS
            if plain and node.defect is None:
                # LocalFilters.filter, without its questions: the first sight of a shape asks this of every node.
                for run, state in filters.filters:
                    status = run(state, node)
                    if status is not SUCCESS:
                        break
            else:
                status = filters.filter(node)
            code = codes.get(id(status))
            if code is None:
                self._record(position, status)
            else:
                known[position] = code


class ClusterVerdicts(Verdicts):
    """Those of all filters: the local ones' and, on nodes that these pass, the others'."""

    def __init__(
        self, local: LocalVerdicts, rejected: Status | None, filters: Sequence[ClusterFilter], snapshot: Snapshot
    ) -> None:
        """rejected: the verdict on every node, where a filter has rejected the pod as such."""
        super().__init__(snapshot, local._codes)
        self._local, self._rejected, self._filters = local, rejected, filters

    def _judge(self, positions: Sequence[int]) -> None:
        if self._rejected is not None:
            for position in positions:
                self._record(position, self._rejected)
            return
        roster = self.snapshot.nodes.standing
        runs = [each.filter for each in self._filters]
        known, codes = self._known, self._codes.by_identity
        for position, code in zip(positions, self._local.codes_at(positions), strict=True):
            status = SUCCESS
            if code != PASSES:
                status = self._local._status(position)
            else:
                node = roster[position]
                for run in runs:
                    status = run(node)
                    if status is not SUCCESS:
                        break
            found = codes.get(id(status))
            if found is None:
                self._record(position, status)
            else:
                known[position] = found
