"""What filters say of the nodes of a snapshot: a byte for each, worked out when first asked for.

A byte is the code of a Status. Bytes are searched, counted and translated in no time, so that a warm call looks closer
only at nodes that were dropped; and what a hundred shapes remember of 5,000 nodes fits into a megabyte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from threading import Lock
from typing import Self

from berth.scheduling.framework import ClusterFilter
from berth.scheduling.positions import UNKNOWN, Located, picked
from berth.scheduling.profile import LocalFilters
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.status import SUCCESS, Status, unresolvable

NOT_IN_CACHE = unresolvable("", "node(s) are not in the extender's cache yet")
"""For a name the cache has never seen: a node that joined a moment ago, or another cluster's."""

_OPEN, _PASSES, _ABSENT, _RARE = 0, 1, 2, 255
_PASSED = bytes((_PASSES,))
_IS_PASSED = bytes(code == _PASSES for code in range(256))
_IS_DROPPED = bytes(code != _PASSES for code in range(256))


class Codes:
    """The different statuses that were given, with a code for each. It only grows; later snapshots share it."""

    __slots__ = ("_adding", "by_identity", "statuses")

    def __init__(self) -> None:
        self.statuses = [NOT_IN_CACHE, SUCCESS, NOT_IN_CACHE]
        self.by_identity = {id(SUCCESS): _PASSES, id(NOT_IN_CACHE): _ABSENT}
        self._adding = Lock()

    def of(self, status: Status) -> int:
        """Its code; _RARE, which stands for any, where there are too many."""
        # Plugins give the same few objects again and again; to hash a Status takes ten times as long.
        return self.by_identity.get(id(status)) or self._added(status)

    def _added(self, status: Status) -> int:
        with self._adding:
            if status in self.statuses:
                return self.statuses.index(status)
            if len(self.statuses) == _RARE:
                return _RARE
            self.statuses.append(status)
            return self.by_identity.setdefault(id(status), len(self.statuses) - 1)


class Dropped(Mapping[str, Status]):
    """Nodes that do not pass, and why."""

    __slots__ = ("_by_name", "_names", "_statuses")

    def __init__(self, names: Sequence[str], statuses: Sequence[Status]) -> None:
        """Side by side; each name once."""
        self._names, self._statuses = names, statuses
        self._by_name: dict[str, Status] | None = None

    @property
    def messages(self) -> dict[str, str]:
        """The reasons as the pod's event shows them."""
        return dict(zip(self._names, map(_MESSAGE, self._statuses), strict=True))

    def __getitem__(self, name: str) -> Status:
        if self._by_name is None:
            self._by_name = dict(zip(self._names, self._statuses, strict=True))
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


NO_ONE = Dropped((), ())
_MESSAGE = attrgetter("message")


@dataclass(frozen=True, slots=True)
class Split:
    """Which nodes of a request pass, and why the others do not. mask: a byte for each node, 0 for the dropped ones."""

    located: Located
    dropped: Dropped
    mask: bytes

    @property
    def names(self) -> list[str]:
        """Those that pass."""
        return list(compress(self.located.names, self.mask)) if self.dropped else self.located.names

    @property
    def passed(self) -> Located:
        """The same, with their positions."""
        return self.located.picked(self.mask) if self.dropped else self.located

    def amended(self, statuses: Mapping[str, Status]) -> Split:
        """With other statuses of some of the nodes."""
        found = {name: statuses.get(name) or self.dropped.get(name, SUCCESS) for name in self.located}
        dropped = {name: status for name, status in found.items() if status is not SUCCESS}
        mask = bytes(name not in dropped for name in self.located)
        return Split(self.located, Dropped(list(dropped), list(dropped.values())), mask)


class Verdicts(ABC):
    """Of the nodes of one snapshot, for pods of one shape. Threads may share it: what two judge, they judge alike."""

    def __init__(self, snapshot: Snapshot, codes: Codes) -> None:
        self.snapshot, self._codes = snapshot, codes
        self._known = bytearray(snapshot.positions.size)
        self._known[UNKNOWN] = _ABSENT
        self._rare: dict[int, Status] = {}

    def keep(self, earlier: Self, open_again: Iterable[int]) -> None:
        """What an earlier snapshot's verdicts say, except at these positions. In other codes, it is not understood."""
        if earlier._codes is not self._codes:
            return
        # The bytes are copied first: a rare verdict is there before its byte says so.
        self._known = earlier._known.ljust(self.snapshot.positions.size, b"\0")
        self._rare = earlier._rare.copy()
        for position in open_again:
            self._known[position] = _OPEN
        self._known[UNKNOWN] = _ABSENT

    def __len__(self) -> int:
        """How many nodes have been judged."""
        return len(self._known) - self._known.count(_OPEN) - 1

    def __getitem__(self, name: str) -> Status:
        position = self.snapshot.positions[name]
        if self._known[position] == _OPEN:
            self._judge((position,))
        return self._status(position)

    def split(self, located: Located) -> Split:
        """The verdicts on all nodes of a request."""
        codes = self.codes_at(located.positions)
        passed = codes.translate(_IS_PASSED)
        if codes.count(_PASSES) == len(codes):
            return Split(located, NO_ONE, passed)
        dropped = codes.translate(_IS_DROPPED)
        if _RARE in codes:
            statuses = [self._status(position) for position in compress(located.positions, dropped)]
        else:
            statuses = list(map(self._codes.statuses.__getitem__, codes.translate(None, _PASSED)))
        return Split(located, Dropped(list(compress(located.names, dropped)), statuses), passed)

    def codes_at(self, positions: Sequence[int]) -> bytes:
        """The codes of these nodes, none of them open."""
        codes = bytearray(picked(self._known, positions))
        unjudged = []
        index = codes.find(_OPEN)
        while index >= 0:
            unjudged.append(index)
            index = codes.find(_OPEN, index + 1)
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
        if code == _RARE:
            self._rare[position] = status
        self._known[position] = code

    def _status(self, position: int) -> Status:
        code = self._known[position]
        return self._rare[position] if code == _RARE else self._codes.statuses[code]


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
            if code != _PASSES:
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
