"""Scores of plugins that look at one node, before normalization. They are cached until the node changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import add
from types import MappingProxyType
from typing import Any, Self

from berth.scheduling.evaluation.time_limit import NO_DECISION_DEADLINE, DecisionDeadline
from berth.scheduling.framework.plugin import ClusterScorePlugin, ScorePlugin, Status
from berth.scheduling.framework.profile import AnyScore, Profile, Scale
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.node_list import NodeRefs, pick
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

Score = Callable[[Any, NodeInfo], int]

NONE_REPLACED: Mapping[int, NodeInfo] = MappingProxyType({})

_IS_ZERO = bytes(code == 0 for code in range(256))


UnnormalizedScorer = tuple[Score, Any, int]
"""A plugin's `score`, its state for the pod, and its weight."""

NormalizedScorer = tuple[ScorePlugin[Any], Any, int]
"""A plugin whose scores are normalized, its state for the pod, and its weight."""


@dataclass(frozen=True, slots=True)
class _ScoreTable:
    """Scores by position. scored: 1 if the node is scored. sums: the weighted sums of the scores that are not
    normalized. raw: for each plugin with normalization, its scores before normalization."""

    scored: bytearray
    sums: list[int]
    raw: tuple[list[int], ...]

    def carried_over(self, size: int, unscored: Iterable[int]) -> _ScoreTable:
        # Copy flags before scores, so that a set flag always has its score.
        scored = self.scored.ljust(size, b"\0")
        more = [0] * (size - len(self.sums))
        for position in unscored:
            scored[position] = 0
        return _ScoreTable(scored, self.sums + more, tuple(raw + more for raw in self.raw))


class LocalScores(DerivedFromSnapshot):
    def __init__(
        self,
        unnormalized: tuple[UnnormalizedScorer, ...],
        normalized: tuple[NormalizedScorer, ...],
        error: Status | None,
        snapshot: Snapshot,
    ) -> None:
        super().__init__(snapshot)
        self._unnormalized, self._normalized, self.error = unnormalized, normalized, error
        self._table: _ScoreTable | None = None

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot) -> Self:
        """Prepare the score plugins, but do not score nodes yet. `error` is set if this pod cannot be scored."""
        unnormalized: list[UnnormalizedScorer] = []
        normalized: list[NormalizedScorer] = []
        for plugin, weight in profile.local_scores:
            prepared = plugin.pre_score(pod)
            if prepared is None:
                continue
            if isinstance(prepared, Status):
                return cls((), (), prepared, snapshot)
            if plugin.normalized and profile.scale is not Scale.AS_IS:
                normalized.append((plugin, prepared.state, weight))
            else:
                unnormalized.append((plugin.score, prepared.state, weight))
        return cls(tuple(unnormalized), tuple(normalized), None, snapshot)

    def updated_to(self, snapshot: Snapshot, changed: Iterable[int]) -> Self:
        later = type(self)(self._unnormalized, self._normalized, self.error, snapshot)
        if self._table is not None:
            later._table = self._table.carried_over(snapshot.positions.size, changed)
        return later

    def totals(
        self,
        nodes: NodeRefs,
        replaced: Mapping[int, NodeInfo] = NONE_REPLACED,
        deadline: DecisionDeadline = NO_DECISION_DEADLINE,
    ) -> list[int]:
        """Return the weighted sum of scores for each node, normalized over these nodes. Raises DeadlineExceeded.
        replaced: by position, nodes to score instead of the snapshot's nodes. Their scores are not cached."""
        table = self._table
        if table is None:
            # Two threads may each create a table: the later table is cached, but each thread uses its own here.
            size = self.snapshot.positions.size
            raw_scores = tuple([0] * size for _ in self._normalized)
            table = self._table = _ScoreTable(bytearray(size), [0] * size, raw_scores)
        scored = bytes(pick(table.scored, nodes.positions))
        if 0 in scored:
            unnormalized = self.snapshot.nodes.by_position
            for step in deadline.steps(list(compress(nodes.positions, scored.translate(_IS_ZERO)))):
                for position in step:
                    self._score(table, unnormalized[position], position)
        totals = list(pick(table.sums, nodes.positions))
        normalized = [list(pick(raw, nodes.positions)) for raw in table.raw]
        for index, position in enumerate(nodes.positions) if replaced else ():
            if (node := replaced.get(position)) is not None:
                totals[index] = self._sum(node)
                for (plugin, state, _), scores in zip(self._normalized, normalized, strict=True):
                    scores[index] = plugin.score(state, node)
        for (plugin, _, weight), scores in zip(self._normalized, normalized, strict=True):
            add_weighted(totals, plugin.normalize(scores), weight)
        return totals

    def difference(self, before: NodeInfo, after: NodeInfo) -> int:
        """Return the change of a node's total from `before` to `after`. Normalized scores count as unchanged."""
        return self._sum(after) - self._sum(before)

    def _score(self, table: _ScoreTable, node: NodeInfo, position: int) -> None:
        for (plugin, state, _), raw in zip(self._normalized, table.raw, strict=True):
            raw[position] = plugin.score(state, node)
        table.sums[position] = self._sum(node)
        # Set the mark last: another thread reads the scores once the node is marked as scored.
        table.scored[position] = 1

    def _sum(self, node: NodeInfo) -> int:
        return sum(score(state, node) * weight for score, state, weight in self._unnormalized)


def add_weighted(totals: list[int], scores: Sequence[int], weight: int) -> None:
    # Multiply each distinct score only once: there are few. If all nodes score 0, the totals do not change.
    weighted = {score: score * weight for score in set(scores)}
    if len(weighted) > 1:
        totals[:] = map(add, totals, map(weighted.__getitem__, scores))
    elif scores and scores[0]:
        share = scores[0] * weight
        totals[:] = [total + share for total in totals]


def weighted_scores(profile: Profile, pod: Pod, snapshot: Snapshot, nodes: NodeRefs) -> dict[str, Sequence[int]]:
    """Return, by plugin, the weighted scores for these feasible nodes. A plugin that fails is left out."""
    found: dict[str, Sequence[int]] = {}
    for plugin, weight in profile.scores:
        scores = plugin_scores(plugin, pod, snapshot, nodes, profile.scale)
        if not isinstance(scores, Status):
            found[plugin.name] = [score * weight for score in scores]
    return found


def plugin_scores(
    plugin: AnyScore, pod: Pod, snapshot: Snapshot, nodes: NodeRefs, scale: Scale = Scale.TOTALS
) -> list[int] | Status:
    """Return scores without weights, normalized as the scale requires; 0 for all nodes if the plugin skips the pod."""
    if isinstance(plugin, ClusterScorePlugin):
        state = plugin.pre_score(pod, snapshot)
        if isinstance(state, Status):
            return state
        return [0] * len(nodes) if state is None else state.scores(nodes, snapshot)
    prepared = plugin.pre_score(pod)
    if isinstance(prepared, Status):
        return prepared
    if prepared is None:
        return [0] * len(nodes)
    scores = [plugin.score(prepared.state, snapshot.nodes[name]) for name in nodes]
    return scores if scale is Scale.AS_IS else plugin.normalize(scores)
