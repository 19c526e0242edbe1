"""What filters say of the nodes of a snapshot: a byte for each, worked out when first asked for.

A byte is the code of a Status. A warm call looks closer only at nodes that were dropped, and what a hundred shapes
remember of 5,000 nodes fits into a megabyte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Self

from berth.scheduling.framework import ClusterFilter
from berth.scheduling.of_snapshot import OfSnapshot
from berth.scheduling.positions import UNKNOWN, Located, picked
from berth.scheduling.profile import LocalFilters
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.split import NO_ONE, Dropped, Split
from berth.scheduling.status import SUCCESS, Status
from berth.scheduling.status_codes import ABSENT, OPEN, PASSES, RARE, Codes

_PASSED = bytes((PASSES,))
_IS_PASSED = bytes(code == PASSES for code in range(256))
_IS_DROPPED = bytes(code != PASSES for code in range(256))


class Verdicts(OfSnapshot, ABC):
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

    def split(self, located: Located) -> Split:
        """The verdicts on all nodes of a request."""
        codes = self.codes_at(located.positions)
        passed = codes.translate(_IS_PASSED)
        if codes.count(PASSES) == len(codes):
            return Split(located, NO_ONE, passed)
        dropped = codes.translate(_IS_DROPPED)
        names = list(compress(located.names, dropped))
        if RARE in codes:
            positions = compress(located.positions, dropped)
            return Split(located, Dropped.of(dict(zip(names, map(self._status, positions), strict=True))), passed)
        return Split(located, Dropped(names, codes.translate(None, _PASSED), self._codes.statuses), passed)

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
