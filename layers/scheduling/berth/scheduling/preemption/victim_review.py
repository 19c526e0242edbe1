"""Reviews the victims that kube-scheduler proposes on each node.

The scheduler's dry run calls only its own plugins (fact 30). The policy may reject a node even without the victims, or
may need more victims there. Without this review the scheduler would evict pods unnecessarily. Rules of the result:

- It contains only proposed nodes, each with all its proposed victims: the scheduler's own plugins need their eviction.
- Added victims have a lower priority than the pod, and are on that node in the cache.
- A node with a victim of equal or higher priority is rejected (fact 29), and so is a node without victims (fact 27).
- Every node is rejected while the pod waits for preempted pods on its nominated node (fact 15a), unless the scheduler
  proposes more victims there, because its own filters need them.
- A victim that an earlier answer listed for the nominated node counts as gone, even if the cache still shows it. It is
  not listed again, because the scheduler's call fails for a victim that it does not know (fact 26).

A proposed victim may be missing in the cache, because the pod is gone already, or because the cache lags for longer
than preempt waits. The victim is accepted, and the node is evaluated without it. A node that is missing in the cache
has just joined: its victims are accepted. docs/concepts/late-view.md has a table of all cases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf

from berth.scheduling.evaluation.evaluation import Evaluation, nominated_verdicts
from berth.scheduling.evaluation.time_limit import NO_DECISION_DEADLINE, DecisionDeadline
from berth.scheduling.framework.plugin import SUCCESS, Code
from berth.scheduling.objects import LabelSet, NodeInfo, Pod, PodSpec
from berth.scheduling.preemption.priority import NEVER, NO_UIDS, NodeRejection, priority_of
from berth.scheduling.preemption.victims import (
    DisruptionBudgets,
    DryRun,
    Victims,
    best_candidates,
    potential_victims,
    select_victims,
)

NO_PODS: Mapping[str, Pod] = {}


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed victims on one node. uids: the most important first. pods: the victims with a known spec, by UID."""

    uids: tuple[str, ...]
    num_pdb_violations: int
    pods: Mapping[str, Pod] = field(default_factory=lambda: NO_PODS)


@dataclass(frozen=True, slots=True)
class PreemptResult:
    """The result of a review. victims: by accepted node, the highest priority first. rejected: the reason for each
    rejected node."""

    victims: Mapping[str, Victims]
    rejected: Mapping[str, NodeRejection]

    def best(self) -> PreemptResult:
        """Keep only the best accepted node; ties go to the first name."""
        best = {name: self.victims[name] for name in best_candidates(self.victims)[:1]}
        others = {name: NodeRejection.NOT_BEST for name in self.victims if name not in best}
        return PreemptResult(best, {**self.rejected, **others})


def review_victims(
    evaluation: Evaluation | None,
    pod: Pod,
    proposals: Mapping[str, Proposal],
    nodes: Mapping[str, NodeInfo],
    deadline: DecisionDeadline = NO_DECISION_DEADLINE,
    answered: Collection[str] = NO_UIDS,
) -> PreemptResult:
    """Review the proposals. evaluation: None if the pod may go to every node. nodes: the nodes in the cache. answered:
    see Policy.review_victims. Raises DeadlineExceeded."""
    if pod.spec.preemption_policy == NEVER:
        return PreemptResult({}, dict.fromkeys(proposals, NodeRejection.NEVER))
    nominated = pod.nominated_node
    if evaluation is not None and nominated not in proposals and waits_for_preempted(evaluation, pod, answered):
        return PreemptResult({}, dict.fromkeys(proposals, NodeRejection.WAITING))
    judge = None if evaluation is None else _VictimReview(evaluation, pod, list(proposals))
    found: dict[str, Victims] = {}
    rejected: dict[str, NodeRejection] = {}
    for name, proposal in proposals.items():
        deadline.check()
        node = nodes.get(name)
        there = NO_PODS if node is None else {other.uid: other for other in node.pods}
        pods = _pods(proposal, there, priority_of(pod))
        if pods is None:
            rejected[name] = NodeRejection.NOT_LOWER
            continue
        proposed = Victims(tuple(pods), proposal.num_pdb_violations)
        gone = (
            [there[uid] for uid in answered if uid in there and uid not in proposal.uids] if name == nominated else []
        )
        victims = proposed if judge is None or node is None else judge.victims(node, proposed, there, gone)
        if isinstance(victims, NodeRejection):
            rejected[name] = victims
        elif not victims.pods:
            rejected[name] = NodeRejection.NO_VICTIM
        else:
            found[name] = Victims(
                tuple(sorted(victims.pods, key=priority_of, reverse=True)), victims.num_pdb_violations
            )
    return PreemptResult(found, rejected)


class _VictimReview:
    def __init__(self, evaluation: Evaluation, pod: Pod, names: list[str]) -> None:
        self._evaluation, self._pod, self._priority = evaluation, pod, priority_of(pod)
        self._exceptions = nominated_verdicts(evaluation, evaluation.snapshot, pod, names)
        self._reads_pods = evaluation.local.filters.reads_pods or bool(evaluation.filters)
        self._budgets = DisruptionBudgets(evaluation.snapshot.disruption_budgets)

    def victims(
        self, node: NodeInfo, proposed: Victims, there: Mapping[str, Pod], gone: Sequence[Pod]
    ) -> Victims | NodeRejection:
        """Return the proposed victims, and more if the pod needs them. there: the node's pods in the cache, by UID.
        gone: pods that have left the node, although the cache still shows them."""
        status = self._exceptions.get(node.name) or self._evaluation.statuses[node.name]
        if not self._reads_pods:
            return proposed if status is SUCCESS else NodeRejection.BARRED
        if status is not SUCCESS and status.code is not Code.UNSCHEDULABLE:
            return NodeRejection.BARRED
        as_it_is = DryRun.of(self._evaluation, self._pod, node).without(gone)
        leaving = [there[victim.uid] for victim in proposed.pods if victim.uid in there]
        # Check without the victims even if the pod fits now: it may have affinity to a victim.
        if as_it_is.without(leaving).fits if gone or leaving else status is SUCCESS:
            return proposed
        if len(leaving) == sum(priority_of(other) < self._priority for other in as_it_is.node.pods):
            return NodeRejection.NO_ROOM  # no other pod can be a victim
        certain = {victim.uid for victim in proposed.pods}
        all_known = select_victims(as_it_is, self._pod, self._budgets, certain)
        if all_known is None:
            return NodeRejection.NO_ROOM
        more = tuple(victim for victim in all_known.pods if victim.uid not in certain)
        # The scheduler may have a budget that the cache does not have yet: use the larger number.
        violations = max(proposed.num_pdb_violations, all_known.num_pdb_violations)
        return Victims((*proposed.pods, *more), violations)


def _pods(proposal: Proposal, there: Mapping[str, Pod], priority: int) -> list[Pod] | None:
    """Return the victims as pods; None if a victim's priority is not lower than `priority`. An unknown victim gets the
    highest priority that it can have."""
    found = []
    given = proposal.pods
    highest = priority - 1
    for uid in proposal.uids:
        known = there.get(uid) or given.get(uid)
        if known is None:
            # In the scheduler's order no victim is more important than the previous one.
            known = replace(_unknown(highest), uid=uid)
        else:
            highest = known.spec.priority or 0
            if highest >= priority or (given and priority_of(given.get(uid, known)) >= priority):
                return None
        found.append(known)
    return found


@lru_cache(maxsize=64)
def _unknown(priority: int) -> Pod:
    return Pod("", "", LabelSet("", {}), PodSpec(priority=priority), start_time=-inf)


def preempted(pod: Pod, node: NodeInfo) -> list[Pod]:
    """Return the pods of lower priority that the scheduler has preempted and that are terminating on the node."""
    priority = priority_of(pod)
    return [
        other for other in node.pods if other.terminating and other.disruption_target and priority_of(other) < priority
    ]


def fits_without_lower(evaluation: Evaluation, pod: Pod) -> bool:
    """Return whether the pod fits on its nominated node without the pods of lower priority there.

    The scheduler sends the nominated node only if its own filters pass. In its state, which is newer, the victims are
    gone. A stale cache does not show which pods were the victims, so all pods of lower priority are left out.
    """
    node = evaluation.snapshot.nodes.get(pod.nominated_node)
    leaving = [] if node is None else potential_victims(node.pods, pod)
    return node is not None and bool(leaving) and DryRun.of(evaluation, pod, node).without(leaving).fits


def waits_for_preempted(evaluation: Evaluation, pod: Pod, answered: Collection[str]) -> bool:
    """Return whether the nominated node is rejected now, and will pass once the preempted pods have left it.

    The scheduler sees the deletion of a preempted pod before the cache does. The policy still rejects the node then,
    and the scheduler would preempt on the next node. answered: UIDs of victims in an earlier answer for this node:
    these pods leave, even if the cache does not show it yet. If `answered` is empty and the cache lacks the nomination,
    it also lacks the evictions: then every pod of lower priority counts as preempted.
    """
    snapshot, name = evaluation.snapshot, pod.nominated_node
    node = snapshot.nodes.get(name)
    if node is None:
        return False
    status = nominated_verdicts(evaluation, evaluation.snapshot, pod, [name]).get(name) or evaluation.statuses[name]
    if status is SUCCESS:
        return False
    known = snapshot.unbound.get(pod.uid)
    if not answered and (known is None or known.nominated_node != name):
        return fits_without_lower(evaluation, pod)
    marked = preempted(pod, node)
    leaving = marked + [other for other in node.pods if other.uid in answered and other not in marked]
    return bool(leaving) and DryRun.of(evaluation, pod, node).without(leaving).fits
