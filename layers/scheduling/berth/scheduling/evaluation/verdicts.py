"""The verdicts of a profile's filters on the nodes of a snapshot. Each takes one byte, and is computed on first use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from threading import Lock
from typing import Self, TypeVar

from berth.scheduling.evaluation.time_limit import NO_DECISION_DEADLINE, DecisionDeadline
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, Status, unresolvable
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.node_list import UNKNOWN, NodeRefs, pick
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

V = TypeVar("V")

NOT_IN_CACHE = unresolvable("", "node(s) are not in the extender's cache yet", reason_code=ReasonCode.NODE_NOT_IN_CACHE)
"""The status of a name that is not in the cache: the node joined a moment ago, or belongs to another cluster."""


class Rejected(Mapping[str, Status]):
    """The statuses of rejected nodes, by name. names: in the request's order. codes: for each name, an index into
    `statuses`."""

    __slots__ = ("_by_name", "codes", "names", "statuses")

    def __init__(self, names: list[str], codes: Sequence[int], statuses: Sequence[Status]) -> None:
        self.names, self.codes, self.statuses = names, codes, statuses
        self._by_name: dict[str, Status] | None = None

    @classmethod
    def of(cls, statuses: Mapping[str, Status]) -> Rejected:
        return cls(list(statuses), range(len(statuses)), list(statuses.values()))

    @property
    def messages(self) -> dict[str, str]:
        return dict(zip(self.names, self.for_each_node([status.message for status in self.statuses]), strict=True))

    def for_each_node(self, values: Sequence[V]) -> tuple[V, ...]:
        """Return a value for each node, in the order of `names`. values: one value for each status in `statuses`."""
        return pick(values, self.codes)

    def __getitem__(self, name: str) -> Status:
        if self._by_name is None:
            self._by_name = dict(zip(self.names, pick(self.statuses, self.codes), strict=True))
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


NONE_REJECTED = Rejected([], (), ())


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The nodes of a request that pass, and the statuses of the other nodes. mask: a byte for each node, 0 if the node
    is rejected. nodes: not compared, because results are compared only within one snapshot."""

    nodes: NodeRefs = field(compare=False)
    rejected: Rejected
    mask: bytes

    @property
    def feasible_names(self) -> list[str]:
        return list(compress(self.nodes.names, self.mask)) if self.rejected else self.nodes.names

    @property
    def feasible(self) -> NodeRefs:
        return self.nodes.selected(self.mask) if self.rejected else self.nodes

    def with_statuses(self, statuses: Mapping[str, Status]) -> FilterResult:
        found = {name: statuses.get(name) or self.rejected.get(name, SUCCESS) for name in self.nodes}
        rejected = {name: status for name, status in found.items() if status is not SUCCESS}
        mask = bytes(name not in rejected for name in self.nodes)
        return FilterResult(self.nodes, Rejected.of(rejected), mask)


NOT_EVALUATED, FEASIBLE, NOT_CACHED, WITHOUT_CODE = 0, 1, 2, 255
"""The codes of a node without a verdict, of SUCCESS, of NOT_IN_CACHE, and of a status without its own code."""


class StatusCodes:
    """The distinct statuses, with a code for each. Codes are never removed; results for later snapshots share them."""

    __slots__ = ("_adding", "by_identity", "statuses")

    def __init__(self) -> None:
        self.statuses = [NOT_IN_CACHE, SUCCESS, NOT_IN_CACHE]
        self.by_identity = {id(SUCCESS): FEASIBLE, id(NOT_IN_CACHE): NOT_CACHED}
        self._adding = Lock()

    def of(self, status: Status) -> int:
        """Return the code of a status; WITHOUT_CODE if all codes are in use."""
        # Look up by identity: plugins return the same few objects, and hashing a Status takes ten times as long.
        return self.by_identity.get(id(status)) or self._added(status)

    def _added(self, status: Status) -> int:
        with self._adding:
            if status in self.statuses:
                return self.statuses.index(status)
            if len(self.statuses) == WITHOUT_CODE:
                return WITHOUT_CODE
            self.statuses.append(status)
            return self.by_identity.setdefault(id(status), len(self.statuses) - 1)


_FEASIBLE = bytes((FEASIBLE,))
_IS_FEASIBLE = bytes(code == FEASIBLE for code in range(256))
_IS_REJECTED = bytes(code != FEASIBLE for code in range(256))


class Verdicts(DerivedFromSnapshot, ABC):
    """The verdicts on the nodes of one snapshot, for pods of one shape. Thread-safe."""

    def __init__(self, snapshot: Snapshot, codes: StatusCodes) -> None:
        super().__init__(snapshot)
        self._codes, self._positions = codes, snapshot.positions
        self._codes_by_position = bytearray(self._positions.size)
        self._codes_by_position[UNKNOWN] = NOT_CACHED
        self._statuses_without_code: dict[int, Status] = {}

    def carry_over(self, earlier: Self, changed: Iterable[int]) -> None:
        """Copy the verdicts of an earlier snapshot, except at the changed positions, if both use the same codes."""
        if earlier._codes is not self._codes:
            return
        # Copy the codes before the statuses: another thread sets a code after its status.
        self._codes_by_position = earlier._codes_by_position.ljust(self._positions.size, b"\0")
        self._statuses_without_code = earlier._statuses_without_code.copy()
        for position in changed:
            self._codes_by_position[position] = NOT_EVALUATED
        self._codes_by_position[UNKNOWN] = NOT_CACHED

    def __len__(self) -> int:
        return len(self._codes_by_position) - self._codes_by_position.count(NOT_EVALUATED) - 1

    def __getitem__(self, name: str) -> Status:
        position = self._positions[name]
        if self._codes_by_position[position] == NOT_EVALUATED:
            self._evaluate((position,))
        return self._status(position)

    def filter_nodes(self, nodes: NodeRefs, deadline: DecisionDeadline = NO_DECISION_DEADLINE) -> FilterResult:
        """Return the verdicts on all nodes of a request. Raises DeadlineExceeded, but keeps computed verdicts."""
        codes = self.codes_at(nodes.positions, deadline)
        mask = codes.translate(_IS_FEASIBLE)
        if codes.count(FEASIBLE) == len(codes):
            return FilterResult(nodes, NONE_REJECTED, mask)
        rejected = codes.translate(_IS_REJECTED)
        names = list(compress(nodes.names, rejected))
        if WITHOUT_CODE in codes:
            positions = compress(nodes.positions, rejected)
            return FilterResult(nodes, Rejected.of(dict(zip(names, map(self._status, positions), strict=True))), mask)
        return FilterResult(nodes, Rejected(names, codes.translate(None, _FEASIBLE), self._codes.statuses), mask)

    def codes_at(self, positions: Sequence[int], deadline: DecisionDeadline = NO_DECISION_DEADLINE) -> bytes:
        """Return the codes of these nodes. Missing verdicts are computed. Raises DeadlineExceeded."""
        codes = bytearray(pick(self._codes_by_position, positions))
        unjudged = []
        index = codes.find(NOT_EVALUATED)
        while index >= 0:
            unjudged.append(index)
            index = codes.find(NOT_EVALUATED, index + 1)
        if unjudged:
            for step in deadline.steps([positions[index] for index in unjudged]):
                self._evaluate(step)
            for index in unjudged:
                codes[index] = self._codes_by_position[positions[index]]
        return bytes(codes)

    @abstractmethod
    def _evaluate(self, positions: Sequence[int]) -> None:
        """Compute the verdicts on these nodes of the snapshot, and `_record` them."""

    def _record(self, position: int, status: Status) -> None:
        code = self._codes.of(status)
        if code == WITHOUT_CODE:
            self._statuses_without_code[position] = status
        self._codes_by_position[position] = code

    def _status(self, position: int) -> Status:
        code = self._codes_by_position[position]
        return self._statuses_without_code[position] if code == WITHOUT_CODE else self._codes.statuses[code]


class LocalVerdicts(Verdicts):
    def __init__(self, filters: LocalFilters, snapshot: Snapshot, codes: StatusCodes) -> None:
        super().__init__(snapshot, codes)
        self.filters = filters

    def updated_to(self, snapshot: Snapshot, changed: Iterable[int]) -> LocalVerdicts:
        later = LocalVerdicts(self.filters, snapshot, self._codes)
        later.carry_over(self, changed)
        return later

    def _evaluate(self, positions: Sequence[int]) -> None:
        filters, nodes = self.filters, self.snapshot.nodes.by_position
        plain = filters.rejected is None and filters.node_names is None
        known, codes = self._codes_by_position, self._codes.by_identity
        for position in positions:
            node = nodes[position]
            status = SUCCESS
            if plain and node.defect is None:
                # Inlined from LocalFilters.filter, without its checks: a shape's first call filters every node.
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
    """The verdicts of all filters: first the filters that look at one node, then the filters that look at all nodes."""

    def __init__(
        self, local: LocalVerdicts, rejected: Status | None, filters: Sequence[ClusterFilter], snapshot: Snapshot
    ) -> None:
        """Prepare the verdicts. rejected: the verdict on every node, if a filter rejects the pod on all nodes."""
        super().__init__(snapshot, local._codes)
        self._local, self._rejected, self._filters = local, rejected, filters

    def _evaluate(self, positions: Sequence[int]) -> None:
        if self._rejected is not None:
            for position in positions:
                self._record(position, self._rejected)
            return
        nodes = self.snapshot.nodes.by_position
        runs = [each.filter for each in self._filters]
        known, codes = self._codes_by_position, self._codes.by_identity
        for position, code in zip(positions, self._local.codes_at(positions), strict=True):
            status = SUCCESS
            if code != FEASIBLE:
                status = self._local._status(position)
            else:
                node = nodes[position]
                for run in runs:
                    status = run(node)
                    if status is not SUCCESS:
                        break
            found = codes.get(id(status))
            if found is None:
                self._record(position, status)
            else:
                known[position] = found
