"""What a profile says of the nodes of a snapshot, for pods of one shape.

A verdict or score of plugins that look at one node holds for every pod of the same shape until that node changes. A new
snapshot shares the NodeInfo of every node that did not change; what was worked out for those is carried over. Plugins
that look at all nodes bring their counts on by what changed, and say whose verdicts that may change. Normalised scores
are never remembered: they depend on who else is a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from berth.scheduling.evaluation.local_scores import NONE_INSTEAD, LocalScores, add_weighted
from berth.scheduling.evaluation.verdicts import NOT_IN_CACHE, ClusterVerdicts, Codes, LocalVerdicts, Verdicts
from berth.scheduling.framework.plugin import ClusterFilter, ClusterFilterPlugin, ClusterScore
from berth.scheduling.framework.profile import LocalFilters, Profile
from berth.scheduling.framework.status import Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.history import Step
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

__all__ = ["NOT_IN_CACHE", "ClusterScores", "Evaluation", "LocalEvaluation"]


class LocalEvaluation(DerivedFromSnapshot):
    """What the plugins say that look at one node."""

    def __init__(self, filters: LocalFilters, scores: LocalScores, statuses: LocalVerdicts, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self.filters, self.scores, self.statuses = filters, scores, statuses

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot) -> Self:
        """A new one, with nothing worked out."""
        filters = profile.pre_filter(pod)
        verdicts = LocalVerdicts(filters, snapshot, Codes())
        return cls(filters, LocalScores.of(profile, pod, snapshot), verdicts, snapshot)

    def carried_to(self, snapshot: Snapshot, step: Step) -> Self:
        """The same for a later snapshot, with what still holds."""
        changed = step.positions
        return type(self)(
            self.filters,
            self.scores.carried_to(snapshot, changed),
            self.statuses.carried_to(snapshot, changed),
            snapshot,
        )


class Evaluation(DerivedFromSnapshot):
    """What all of them say."""

    def __init__(
        self,
        profile: Profile,
        local: LocalEvaluation,
        snapshot: Snapshot,
        rejected: Status | None,
        filters: tuple[ClusterFilter, ...],
    ) -> None:
        super().__init__(snapshot)
        self._profile, self.local = profile, local
        self._cluster_scores: ClusterScores | None = None
        self.rejected, self._all_filters = rejected, filters
        self.filters = tuple(each for each in filters if not each.skips)
        self.statuses: Verdicts = local.statuses
        if rejected is not None or self.filters:
            self.statuses = ClusterVerdicts(local.statuses, rejected, self.filters, snapshot)

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot, local: LocalEvaluation) -> Self:
        """A new one. Counts over the whole snapshot where the profile has plugins that do."""
        if local.filters.rejected is not None:
            return cls(profile, local, snapshot, None, ())
        rejected, filters = _pre_filter(profile.cluster_filters, pod, snapshot)
        return cls(profile, local, snapshot, rejected, filters)

    def carried_to(self, snapshot: Snapshot, step: Step, local: LocalEvaluation) -> Self:
        """The same evaluation for a later snapshot, with what still holds."""
        filters = []
        affected: list[int] | None = [*step.positions]
        for each in self._all_filters:
            later, names = each.moved_to(snapshot, step)
            filters.append(later)
            affected = (
                None if affected is None or names is None else affected + [snapshot.positions[name] for name in names]
            )
        evaluation = type(self)(self._profile, local, snapshot, self.rejected, tuple(filters))
        before, after = self.statuses, evaluation.statuses
        if affected is not None and isinstance(before, ClusterVerdicts) and isinstance(after, ClusterVerdicts):
            after.keep(before, affected)
        if self._cluster_scores is not None:
            evaluation._cluster_scores = self._cluster_scores.moved_to(snapshot, step)
        return evaluation

    def totals(self, pod: Pod, located: NodeRefs, instead: Mapping[int, NodeInfo] = NONE_INSTEAD) -> list[int] | Status:
        """The weighted scores of these feasible nodes, the only candidates. A Status says why there are none.

        instead: by position, nodes that plugins which look at one node score in place of those of the snapshot.
        """
        scored = self._cluster_scores
        if scored is None:
            scored = self._cluster_scores = ClusterScores.of(self._profile, pod, self.snapshot)
        error = self.local.scores.error or scored.error
        if error is not None:
            return error
        totals = self.local.scores.totals(located, instead)
        for state, weight in scored.states:
            add_weighted(totals, state.scores(located, self.snapshot), weight)
        return totals


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """What the score plugins that look at all nodes have prepared. `error`: why the pod cannot be scored at all."""

    states: tuple[tuple[ClusterScore, int], ...] = ()
    error: Status | None = None

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot) -> Self:
        """Count over the whole snapshot."""
        states = []
        for plugin, weight in profile.cluster_scores:
            prepared = plugin.pre_score(pod, snapshot)
            if isinstance(prepared, Status):
                return cls(error=prepared)
            if prepared is not None:
                states.append((prepared, weight))
        return cls(tuple(states))

    def moved_to(self, snapshot: Snapshot, step: Step) -> Self:
        """The same for a later snapshot."""
        return replace(self, states=tuple((state.moved_to(snapshot, step), weight) for state, weight in self.states))


def _pre_filter(
    plugins: tuple[ClusterFilterPlugin, ...], pod: Pod, snapshot: Snapshot
) -> tuple[Status | None, tuple[ClusterFilter, ...]]:
    filters = []
    for plugin in plugins:
        prepared = plugin.pre_filter(pod, snapshot)
        if isinstance(prepared, Status):
            return prepared, ()
        filters.append(prepared)
    return None, tuple(filters)
