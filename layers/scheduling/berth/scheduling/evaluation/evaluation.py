"""The verdicts and scores that a profile gives to the nodes of a snapshot, for pods of one shape.

A verdict or score of a plugin that looks at one node is valid for every pod of the same shape until that node changes.
A new snapshot shares the NodeInfo of every node that did not change, so the results for these nodes are carried over.
Plugins that look at all nodes apply the delta to their states. Filters also return the nodes whose verdicts may change.
Normalized scores are never cached: they depend on the other candidates.

A node with nominated pods of equal or higher priority is filtered twice, with these pods and without them, and must
pass both times. Assumed pods are on the node both times. These verdicts are not cached: they depend on the pod's UID
and priority, not only on its shape, and they concern few nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Self

from berth.scheduling.evaluation.local_scores import NONE_REPLACED, LocalScores, add_weighted
from berth.scheduling.evaluation.time_limit import NO_DECISION_DEADLINE, DecisionDeadline
from berth.scheduling.evaluation.verdicts import ClusterVerdicts, LocalVerdicts, StatusCodes, Verdicts
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, ClusterScore, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import node_with_assumed
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot


class LocalEvaluation(DerivedFromSnapshot):
    def __init__(self, scores: LocalScores, statuses: LocalVerdicts, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self.filters, self.scores, self.statuses = statuses.filters, scores, statuses

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot) -> Self:
        """Return a new evaluation. Verdicts and scores are computed on first use."""
        verdicts = LocalVerdicts(profile.pre_filter(pod), snapshot, StatusCodes())
        return cls(LocalScores.of(profile, pod, snapshot), verdicts, snapshot)

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> Self:
        changed = delta.positions
        scores, statuses = self.scores.updated_to(snapshot, changed), self.statuses.updated_to(snapshot, changed)
        return type(self)(scores, statuses, snapshot)


class Evaluation(DerivedFromSnapshot):
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
        self.rejected, self.all_filters = rejected, filters
        # `all_filters` also has the skipped filters, because such a filter may reject nodes in a later snapshot.
        self.filters = tuple(each for each in filters if not each.skips)
        self.statuses: Verdicts = local.statuses
        if rejected is not None or self.filters:
            self.statuses = ClusterVerdicts(local.statuses, rejected, self.filters, snapshot)

    @classmethod
    def of(
        cls,
        profile: Profile,
        pod: Pod,
        snapshot: Snapshot,
        local: LocalEvaluation,
        deadline: DecisionDeadline = NO_DECISION_DEADLINE,
    ) -> Self:
        """Return a new evaluation. Filters that look at all nodes prepare their states. Raises DeadlineExceeded."""
        if local.filters.rejected is not None:
            return cls(profile, local, snapshot, None, ())
        filters = []
        for plugin in profile.cluster_filters:
            deadline.check()
            prepared = plugin.pre_filter(pod, snapshot)
            if isinstance(prepared, Status):
                return cls(profile, local, snapshot, prepared, ())
            filters.append(prepared)
        return cls(profile, local, snapshot, None, tuple(filters))

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta, local: LocalEvaluation) -> Self:
        filters = []
        affected: list[int] | None = [*delta.positions]
        for each in self.all_filters:
            later, names = each.updated_to(snapshot, delta)
            filters.append(later)
            affected = (
                None if affected is None or names is None else affected + [snapshot.positions[name] for name in names]
            )
        evaluation = type(self)(self._profile, local, snapshot, self.rejected, tuple(filters))
        before, after = self.statuses, evaluation.statuses
        if affected is not None and isinstance(before, ClusterVerdicts) and isinstance(after, ClusterVerdicts):
            after.carry_over(before, affected)
        if self._cluster_scores is not None:
            evaluation._cluster_scores = self._cluster_scores.updated_to(snapshot, delta)
        return evaluation

    def totals(
        self,
        pod: Pod,
        nodes: NodeRefs,
        replaced: Mapping[int, NodeInfo] = NONE_REPLACED,
        deadline: DecisionDeadline = NO_DECISION_DEADLINE,
    ) -> list[int] | Status:
        """Return the total scores of these nodes, which must be all candidates; a Status if scoring fails. Raises
        DeadlineExceeded. replaced: by position, nodes to score instead of the snapshot's nodes."""
        scored = self._cluster_scores
        if scored is None:
            scored = self._cluster_scores = ClusterScores.of(self._profile, pod, self.snapshot, deadline)
        error = self.local.scores.error or scored.error
        if error is not None:
            return error
        totals = self.local.scores.totals(nodes, replaced, deadline)
        for state, weight in scored.states:
            deadline.check()
            add_weighted(totals, state.scores(nodes, self.snapshot), weight)
        return totals


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """The prepared states of the score plugins that look at all nodes. error: set if the pod cannot be scored."""

    states: tuple[tuple[ClusterScore, int], ...] = ()
    error: Status | None = None

    @classmethod
    def of(cls, profile: Profile, pod: Pod, snapshot: Snapshot, deadline: DecisionDeadline) -> Self:
        """Prepare all score plugins that look at all nodes. Raises DeadlineExceeded."""
        states = []
        for plugin, weight in profile.cluster_scores:
            deadline.check()
            prepared = plugin.pre_score(pod, snapshot)
            if isinstance(prepared, Status):
                return cls(error=prepared)
            if prepared is not None:
                states.append((prepared, weight))
        return cls(tuple(states))

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> Self:
        return replace(self, states=tuple((state.updated_to(snapshot, delta), weight) for state, weight in self.states))


def nominated_verdicts(evaluation: Evaluation, snapshot: Snapshot, pod: Pod, names: Sequence[str]) -> dict[str, Status]:
    """Return, by node, the verdicts for this pod that differ from the verdicts for its shape; usually the result is
    empty. snapshot: the snapshot of the evaluation, with or without assumed pods."""
    narrowed = evaluation.local.filters.node_names is not None
    found: dict[str, Status] = {}
    if not snapshot.nominated and not snapshot.assumed and not (narrowed and pod.nominated_node):
        return found
    for name in {*snapshot.nominated, *snapshot.assumed, pod.nominated_node}.intersection(names):
        node = snapshot.nodes.get(name)
        if node is None:
            continue
        own = narrowed and name == pod.nominated_node
        assumed = [other for other in snapshot.assumed.get(name, ()) if other.uid != pod.uid]
        nominated = nominated_beside(pod, name, snapshot)
        status = evaluation.statuses[name]
        if assumed or nominated or own:
            status = _verdict(evaluation, node, [*assumed, *nominated], own=own)
            if status is SUCCESS and nominated:
                status = _verdict(evaluation, node, assumed, own=own)
        if status is not evaluation.statuses[name]:
            found[name] = status
    return found


def nominated_beside(pod: Pod, name: str, snapshot: Snapshot) -> list[Pod]:
    """Return the other pods nominated to the node that have the same scheduler and an equal or higher priority."""
    priority = pod.priority or 0
    return [
        other
        for other in snapshot.nominated.get(name, ())
        if other.uid != pod.uid and (other.priority or 0) >= priority and other.scheduler_name == pod.scheduler_name
    ]


def nodes_with_assumed(snapshot: Snapshot, pod: Pod, candidates: NodeRefs) -> Mapping[int, NodeInfo]:
    """Return the candidates that have assumed pods, by position, with these pods on them. This is for scoring."""
    found: dict[int, NodeInfo] = {}
    for name in snapshot.assumed.keys() & set(candidates.names) if snapshot.assumed else ():
        node = snapshot.nodes[name]
        changed = node_with_assumed(node, snapshot.assumed, pod.uid)
        if changed is not node:
            found[snapshot.positions[name]] = changed
    return found


def _verdict(evaluation: Evaluation, node: NodeInfo, others: Sequence[Pod], *, own: bool) -> Status:
    """Return the verdict on the node as if `others` were on it. own: whether the node is the pod's nominated node,
    which is filtered even if `node_names` lacks it."""
    filters = evaluation.local.filters
    changed = node.replacing_pods((), others) if others else node
    status = filters.rejected or evaluation.rejected
    if status is None:
        status = filters.filter_nominated(changed) if own else filters.filter(changed)
    for each in evaluation.filters:
        if status is not SUCCESS:
            break
        status = reduce(lambda state, other: state.with_pod(other, changed), others, each).filter(changed)
    return status
