"""kube-scheduler's PostFilter: preemption for a pod that does not fit on any node, and its effect on the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.framework.plugin import Code, Status, unresolvable
from berth.scheduling.objects import NodeInfo, Pod, PodDisruptionBudget
from berth.scheduling.preemption.priority import NEVER, NodeRejection, priority_of
from berth.scheduling.preemption.victim_review import PreemptResult, preempted
from berth.scheduling.preemption.victims import (
    DisruptionBudgets,
    EvictionCost,
    Victims,
    best_candidates,
    eviction_cost,
    potential_victims,
)
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.placement.scheduler.victim_cache import VictimCache, victims_on

Review = Callable[[Mapping[str, Victims]], PreemptResult]
"""An extender's review of the candidates."""

Select = Callable[[Evaluation, Pod, NodeInfo, DisruptionBudgets], Victims | None]


class NoCandidateReason(StrEnum):
    """The reasons why a node is not a candidate. NOT_HELPFUL has kube-scheduler's text."""

    NOT_HELPFUL = "preemption is not helpful for scheduling"
    NO_VICTIMS = "rejected even without all pods of lower priority"


class Ineligible(StrEnum):
    """The reasons why a pod may not preempt, in kube-scheduler's words. NEVER: because of its preemptionPolicy.
    WAITING: preempted pods are still on its nominated node.
    """

    NEVER = "not eligible due to preemptionPolicy=Never."
    WAITING = "not eligible due to a terminating pod on the nominated node."


def ineligible(pod: Pod, nominated: NodeInfo | None, status: Status | None) -> Ineligible | None:
    """Return why the pod may not preempt, or None if it may. status: the verdict on its nominated node."""
    if pod.spec.preemption_policy == NEVER:
        return Ineligible.NEVER
    if nominated is None or status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return None
    return Ineligible.WAITING if preempted(pod, nominated) else None


@dataclass(frozen=True, slots=True)
class Preemption:
    """The result of preemption for a pod.

    candidates: the nodes on which evictions would make room. tied: the names of the best candidates. ineligible: why
    the pod may not preempt. waits_for: the preempted pods on its nominated node, if it waits for their deletion.
    not_candidates: by node, why the other nodes are not candidates. violated: the budgets that the victims on the
    nominated node violate, by the victim's UID.
    """

    candidates: Mapping[str, Victims] = field(default_factory=dict)
    tied: Sequence[str] = ()
    ineligible: Ineligible | None = None
    not_candidates: Mapping[str, NoCandidateReason | NodeRejection] = field(default_factory=dict)
    violated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    waits_for: Sequence[Pod] = ()

    @property
    def nominated(self) -> str | None:
        """The node to preempt on. Among equal nodes, kube-scheduler chooses any node, and Berth the first by name."""
        return self.tied[0] if self.tied else None

    @property
    def victims(self) -> tuple[Pod, ...]:
        """The victims on the nominated node, the most important first."""
        return self.candidates[self.tied[0]].pods if self.tied else ()

    def others(self) -> dict[str, NoCandidateReason | NodeRejection | Criterion]:
        """Return, by node, why each node other than the nominated node is not chosen."""
        found: dict[str, NoCandidateReason | NodeRejection | Criterion] = dict(self.not_candidates)
        if self.nominated is not None:
            least = eviction_cost(self.candidates[self.nominated])
            found |= {
                name: deciding_criterion(eviction_cost(victims), least)
                for name, victims in self.candidates.items()
                if name != self.nominated
            }
        return found


def evaluate(
    evaluation: Evaluation,
    pod: Pod,
    statuses: Mapping[str, Status],
    *,
    review: Review | None = None,
    select: Select = victims_on,
) -> Preemption:
    """Evaluate preemption. `statuses`: the cycle's verdicts, which reject all nodes. review: the review of the
    candidates by an extender; None without an extender.

    Nodes with a code other than UNSCHEDULABLE are not tried, because evictions do not help there. All other nodes are
    tried; kube-scheduler stops after a share of them.
    """
    snapshot = evaluation.snapshot
    name = pod.nominated_node
    reason = ineligible(pod, snapshot.nodes.get(name), statuses.get(name))
    if reason is not None:
        waits_for = preempted(pod, snapshot.nodes[name]) if reason is Ineligible.WAITING else ()
        return Preemption(ineligible=reason, waits_for=waits_for)
    budgets = DisruptionBudgets(snapshot.disruption_budgets)
    none: dict[str, NoCandidateReason | NodeRejection] = {}
    found: dict[str, Victims] = {}
    for name, status in statuses.items():
        if status.code is not Code.UNSCHEDULABLE:
            none[name] = NoCandidateReason.NOT_HELPFUL
            continue
        victims = select(evaluation, pod, snapshot.nodes[name], budgets)
        if victims is None:
            none[name] = NoCandidateReason.NO_VICTIMS
        else:
            found[name] = victims
    candidates: Mapping[str, Victims] = found
    if review is not None and found:
        reviewed = review(found)
        candidates, none = reviewed.victims, {**none, **reviewed.rejected}
    tied = best_candidates(candidates)
    if not tied:
        return Preemption(candidates, not_candidates=none)
    return Preemption(candidates, tied, None, none, _violated(pod, snapshot.nodes[tied[0]], candidates, budgets))


def _violated(
    pod: Pod, node: NodeInfo, candidates: Mapping[str, Victims], budgets: DisruptionBudgets
) -> Mapping[str, Sequence[str]]:
    """Return the violated budgets by victim. As when victims are selected, spared pods use up budgets, too."""
    violated = budgets.violated(potential_victims(node.pods, pod))
    return {victim.uid: violated[victim.uid] for victim in candidates[node.name].pods if victim.uid in violated}


class Preemptor:
    """Runs preemption: the scheduler's plugins select the victims; the extender reviews their nodes."""

    def __init__(self, extender: PolicyExtender | None) -> None:
        self._extender = extender
        self._victim_cache = VictimCache()

    def preempt(
        self,
        evaluation: Evaluation,
        pod: Pod,
        scheduler_rejected: Mapping[str, Status],
        extender_rejected: Mapping[str, Status],
    ) -> Preemption:
        """Evaluate preemption for the pod. scheduler_rejected, extender_rejected: the statuses of the nodes that the
        scheduler's plugins and the extender reject."""
        extender, snapshot, select = self._extender, evaluation.snapshot, self._victim_cache.select
        if extender is None:
            return evaluate(evaluation, pod, scheduler_rejected, select=select)

        def review(candidates: Mapping[str, Victims]) -> PreemptResult:
            return extender.preempt(pod, candidates, snapshot)

        statuses = {**scheduler_rejected, **_as_recorded_by_scheduler(extender, pod, extender_rejected, snapshot)}
        return evaluate(evaluation, pod, statuses, review=review, select=select)


def _as_recorded_by_scheduler(
    extender: PolicyExtender, pod: Pod, rejected: Mapping[str, Status], snapshot: Snapshot
) -> dict[str, Status]:
    """Return the scheduler's statuses of nodes that the extender rejected: unresolvable unless in `FailedNodes` (fact
    15)."""
    resolvable = extender.resolvable(pod, rejected, snapshot) if rejected else ()
    return {
        name: status if name in resolvable else unresolvable(status.plugin, status.message)
        for name, status in rejected.items()
    }


def apply_preemption(snapshot: Snapshot, pod: Pod, preemption: Preemption) -> Snapshot:
    """Remove the victims, nominate the pod to their node, and clear lower-priority nominations to it."""
    node, victims = preemption.nominated or "", preemption.victims
    budgets = after_evictions(snapshot.disruption_budgets, victims)
    displaced = [
        replace(other, nominated_node="")
        for other in snapshot.nominated.get(node, ())
        if other.scheduler_name == pod.scheduler_name and priority_of(other) < priority_of(pod)
    ]
    return snapshot.with_changes(
        Changes(
            pods=(*displaced, replace(pod, nominated_node=node)),
            pods_gone=[(node, victim.uid) for victim in victims],
            disruption_budgets=None if budgets is snapshot.disruption_budgets else budgets,
        )
    )


class Criterion(StrEnum):
    """The criteria for choosing a node, in order. Each is a reason why a node is not chosen. TIED: the node is equal in
    all criteria."""

    VIOLATIONS = "more victims there violate a PodDisruptionBudget"
    HIGHEST = "a victim there has a higher priority"
    SUM = "the victims' priorities there make a higher sum"
    NUMBER = "more victims there"
    START = "the victims there started earlier"
    TIED = "just as good"


_CRITERIA = (Criterion.VIOLATIONS, Criterion.HIGHEST, Criterion.SUM, Criterion.NUMBER, Criterion.START)


def deciding_criterion(cost: EvictionCost, lowest: EvictionCost) -> Criterion:
    """Return the first criterion in which this cost differs from the lowest one."""
    differing = (each for each, one, other in zip(_CRITERIA, cost, lowest, strict=True) if one != other)
    return next(differing, Criterion.TIED)


def after_evictions(budgets: Sequence[PodDisruptionBudget], pods: Iterable[Pod]) -> Sequence[PodDisruptionBudget]:
    """Return the budgets after these pods are evicted; the same object if they allow as much as before.

    Terminating pods are already subtracted. A budget does not become negative.
    """
    counted = [pod for pod in pods if not pod.terminating]
    found = [
        replace(budget, disruptions_allowed=max(0, budget.disruptions_allowed - sum(map(budget.covers, counted))))
        for budget in budgets
    ]
    allow_less = any(
        after.disruptions_allowed != budget.disruptions_allowed for after, budget in zip(found, budgets, strict=True)
    )
    return tuple(found) if allow_less else budgets
