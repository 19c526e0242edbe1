"""Scores of plugins that look at one node, remembered until the node changes, before they are normalised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import add
from types import MappingProxyType
from typing import Any, Self

from berth.scheduling.framework.plugin import ScorePlugin
from berth.scheduling.framework.profile import Profile, Scale
from berth.scheduling.framework.status import Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.node_positions import NodeRefs, picked
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

Score = Callable[[Any, NodeInfo], int]

NONE_INSTEAD: Mapping[int, NodeInfo] = MappingProxyType({})

_IS_ZERO = bytes(code == 0 for code in range(256))


@dataclass(frozen=True, slots=True)
class Standing:
    """One plugin whose scores stand as they are, with what it prepared for the pod."""

    score: Score
    state: Any
    weight: int


@dataclass(frozen=True, slots=True)
class Column:
    """One plugin whose scores are normalised, with what it prepared for the pod."""

    plugin: ScorePlugin[Any]
    state: Any
    weight: int


@dataclass(frozen=True, slots=True)
class _Table:
    """By position: whether the node was scored, the sum of what stands, and one list for each column."""

    scored: bytearray
    sums: list[int]
    raw: tuple[list[int], ...]

    @classmethod
    def of(cls, size: int, columns: int) -> _Table:
        return cls(bytearray(size), [0] * size, tuple([0] * size for _ in range(columns)))

    def copied(self, size: int, unscored: Iterable[int]) -> _Table:
        # What is scored is copied first: the scores are there before it says so.
        scored = self.scored.ljust(size, b"\0")
        more = [0] * (size - len(self.sums))
        for position in unscored:
            scored[position] = 0
        return _Table(scored, self.sums + more, tuple(raw + more for raw in self.raw))


class LocalScores(DerivedFromSnapshot):
    """Of the nodes of one snapshot, for pods of one shape."""

    def __init__(
        self, standing: tuple[Standing, ...], columns: tuple[Column, ...], error: Status | None, snapshot: Snapshot
    ) -> None:
        super().__init__(snapshot)
        self._standing, self._columns, self.error = standing, columns, error
        self._table: _Table | None = None

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot) -> Self:
        """Nothing scored yet. `error`: why this pod cannot be scored at all."""
        standing = []
        columns = []
        for plugin, weight in profile.local_scores:
            prepared = plugin.pre_score(pod)
            if prepared is None:
                continue
            if isinstance(prepared, Status):
                return cls((), (), prepared, snapshot)
            if plugin.normalized and profile.scale is not Scale.AS_IS:
                columns.append(Column(plugin, prepared.state, weight))
            else:
                standing.append(Standing(plugin.score, prepared.state, weight))
        return cls(tuple(standing), tuple(columns), None, snapshot)

    def carried_to(self, snapshot: Snapshot, changed: Iterable[int]) -> Self:
        """The same for a later snapshot, in which those who stand at these positions are not what they were."""
        later = type(self)(self._standing, self._columns, self.error, snapshot)
        if self._table is not None:
            later._table = self._table.copied(snapshot.positions.size, changed)
        return later

    def totals(self, located: NodeRefs, instead: Mapping[int, NodeInfo] = NONE_INSTEAD) -> list[int]:
        """The weighted sums for these nodes, normalised among them.

        instead: by position, nodes to be scored in place of those of the snapshot; nothing of them is remembered.
        """
        table = self._table
        if table is None:
            # Two threads that are first may each make one: the later stays, and each has its own here.
            table = self._table = _Table.of(self.snapshot.positions.size, len(self._columns))
        scored = bytes(picked(table.scored, located.positions))
        if 0 in scored:
            standing = self.snapshot.nodes.standing
            for position in compress(located.positions, scored.translate(_IS_ZERO)):
                self._score(table, standing[position], position)
        totals = list(picked(table.sums, located.positions))
        columns = [list(picked(raw, located.positions)) for raw in table.raw]
        for index, position in enumerate(located.positions) if instead else ():
            if (node := instead.get(position)) is not None:
                totals[index] = self._sum(node)
                for column, scores in zip(self._columns, columns, strict=True):
                    scores[index] = column.plugin.score(column.state, node)
        for column, scores in zip(self._columns, columns, strict=True):
            add_weighted(totals, column.plugin.normalize(scores), column.weight)
        return totals

    def _score(self, table: _Table, node: NodeInfo, position: int) -> None:
        for column, raw in zip(self._columns, table.raw, strict=True):
            raw[position] = column.plugin.score(column.state, node)
        table.sums[position] = self._sum(node)
        # Last, for other threads read it.
        table.scored[position] = 1

    def _sum(self, node: NodeInfo) -> int:
        return sum(each.score(each.state, node) * each.weight for each in self._standing)


def add_weighted(totals: list[int], scores: Sequence[int], weight: int) -> None:
    """Add a plugin's scores to the totals, in place."""
    # There are few different scores: each is weighted once, and a score that all have is no reason to go over them.
    weighted = {score: score * weight for score in set(scores)}
    if len(weighted) > 1:
        totals[:] = map(add, totals, map(weighted.__getitem__, scores))
    elif scores and scores[0]:
        share = scores[0] * weight
        totals[:] = [total + share for total in totals]
