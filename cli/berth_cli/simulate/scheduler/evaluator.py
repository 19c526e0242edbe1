"""Preemption in a scheduling cycle without a feasible node, up to the choice of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.framework.status import Code, Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.preemption.disruption_budgets import DisruptionBudgets
from berth.scheduling.preemption.dry_run import DryRun
from berth.scheduling.preemption.eligibility import Ineligible, ineligible
from berth.scheduling.preemption.victim_review import NodeRejection, PreemptResult
from berth.scheduling.preemption.victims import (
    Criterion,
    Victims,
    best_candidates,
    deciding_criterion,
    eviction_cost,
    potential_victims,
    select_victims,
)

Review = Callable[[Mapping[str, Victims]], PreemptResult]
"""An extender's review of the candidates."""

Select = Callable[[Evaluation, Pod, NodeInfo, DisruptionBudgets], Victims | None]


class NoCandidateReason(StrEnum):
    """Why a node is no candidate. NOT_HELPFUL has kube-scheduler's text."""

    NOT_HELPFUL = "preemption is not helpful for scheduling"
    NO_VICTIMS = "too little room even without all pods of lower priority"


@dataclass(frozen=True, slots=True)
class Preemption:
    """The result of preemption for a pod.

    candidates: the nodes where evictions would make room. tied: the names of the best ones. ineligible: why the pod may
    not preempt. not_candidates: the reasons of the other nodes. violated: the budgets that the victims on the nominated
    node violate, by the victim's UID.
    """

    candidates: Mapping[str, Victims] = field(default_factory=dict)
    tied: Sequence[str] = ()
    ineligible: Ineligible | None = None
    not_candidates: Mapping[str, NoCandidateReason | NodeRejection] = field(default_factory=dict)
    violated: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def nominated(self) -> str | None:
        """The node to preempt on. Of equal nodes kube-scheduler takes any one, Berth the first by name."""
        return self.tied[0] if self.tied else None

    @property
    def victims(self) -> tuple[Pod, ...]:
        """On the nominated node, the most important first."""
        return self.candidates[self.tied[0]].pods if self.tied else ()

    def others(self) -> dict[str, NoCandidateReason | NodeRejection | Criterion]:
        """Why not the other nodes."""
        found: dict[str, NoCandidateReason | NodeRejection | Criterion] = dict(self.not_candidates)
        if self.nominated is not None:
            least = eviction_cost(self.candidates[self.nominated])
            found |= {
                name: deciding_criterion(eviction_cost(victims), least)
                for name, victims in self.candidates.items()
                if name != self.nominated
            }
        return found


def select(evaluation: Evaluation, pod: Pod, node: NodeInfo, budgets: DisruptionBudgets) -> Victims | None:
    """The victims on one node."""
    return select_victims(DryRun.of(evaluation, pod, node), pod, budgets)


def evaluate(
    evaluation: Evaluation,
    pod: Pod,
    statuses: Mapping[str, Status],
    *,
    review: Review | None = None,
    select: Select = select,
    budgets: DisruptionBudgets | None = None,
) -> Preemption:
    """`statuses`: the cycle's verdicts on all nodes, none of them good. review: an extender's part, where there is one.
    budgets: those of the snapshot, if the caller has them already.

    Evictions help on no node with another code than UNSCHEDULABLE. All others are tried, where kube-scheduler stops
    after a share of them.
    """
    snapshot = evaluation.snapshot
    name = pod.nominated_node
    reason = ineligible(pod, snapshot.nodes.get(name), statuses.get(name))
    if reason is not None:
        return Preemption(ineligible=reason)
    budgets = budgets or DisruptionBudgets(snapshot.disruption_budgets)
    candidates: Mapping[str, Victims] = {}
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
    candidates = found
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
    """The violated budgets. As in the choice of victims, reprieved pods use up the budgets too."""
    violated = budgets.violated(potential_victims(node.pods, pod))
    return {victim.uid: violated[victim.uid] for victim in candidates[node.name].pods if victim.uid in violated}
