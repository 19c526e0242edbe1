"""Whether a pod may preempt, and whether it waits for pods that were preempted for it (fact 15a)."""

from __future__ import annotations

from enum import StrEnum

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.nominated_pods import nominated_verdicts
from berth.scheduling.framework.status import SUCCESS, Code, Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.preemption.dry_run import DryRun
from berth.scheduling.preemption.priority import NEVER, priority_of
from berth.scheduling.preemption.victims import potential_victims


class Ineligible(StrEnum):
    """Why a pod may not preempt, in kube-scheduler's words.

    NEVER: its preemptionPolicy. WAITING: preempted pods have not left its nominated node yet.
    """

    NEVER = "not eligible due to preemptionPolicy=Never."
    WAITING = "not eligible due to a terminating pod on the nominated node."


def ineligible(pod: Pod, nominated: NodeInfo | None, status: Status | None) -> Ineligible | None:
    """Why the pod may not preempt; None where it may. nominated, status: its nominated node and the verdict on it."""
    if pod.spec.preemption_policy == NEVER:
        return Ineligible.NEVER
    if nominated is None or status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return None
    return Ineligible.WAITING if preempted(pod, nominated) else None


def preempted(pod: Pod, node: NodeInfo) -> list[Pod]:
    """The terminating pods of lower priority on the node that the scheduler has preempted."""
    priority = priority_of(pod)
    return [
        other for other in node.pods if other.terminating and other.disruption_target and priority_of(other) < priority
    ]


def fits_without_preempted(evaluation: Evaluation, pod: Pod) -> bool:
    """Whether the pod fits on its nominated node once the preempted pods have left it."""
    node = evaluation.snapshot.nodes.get(pod.nominated_node)
    leaving = [] if node is None else preempted(pod, node)
    return node is not None and bool(leaving) and DryRun.of(evaluation, pod, node).without(leaving).fits


def waits_for_preempted(evaluation: Evaluation, pod: Pod) -> bool:
    """Whether the nominated node is rejected now and will fit once the preempted pods have left it.

    The scheduler asks for no more victims while it sees a preempted pod. It sees the pod gone before the cache does,
    finds the node still rejected by the policy, and would preempt on the next node. A cache that does not have the
    nomination does not have these evictions either: then all potential victims count as preempted.
    """
    snapshot, name = evaluation.snapshot, pod.nominated_node
    node = snapshot.nodes.get(name)
    if node is None:
        return False
    status = nominated_verdicts(evaluation, evaluation.snapshot, pod, [name]).get(name) or evaluation.statuses[name]
    if status is SUCCESS:
        return False
    known = snapshot.unbound.get(pod.uid)
    if known is not None and known.nominated_node == name:
        return fits_without_preempted(evaluation, pod)
    return DryRun.of(evaluation, pod, node).without(potential_victims(node.pods, pod)).fits
