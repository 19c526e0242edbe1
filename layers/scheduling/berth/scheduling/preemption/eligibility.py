"""Whether a pod may preempt, and whether it waits for pods that were preempted for it (fact 15a)."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.nominated_pods import nominated_verdicts
from berth.scheduling.framework.status import SUCCESS, Code, Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.preemption.dry_run import DryRun
from berth.scheduling.preemption.priority import NEVER, priority_of
from berth.scheduling.preemption.victims import potential_victims
from berth.scheduling.snapshot.snapshot import Snapshot


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


def may_preempt(pod: Pod, snapshot: Snapshot) -> bool:
    """Return whether there may be pods that this one evicts: those without a class have priority 0."""
    lowest = min((each.value for each in snapshot.priority_classes.values()), default=0)
    return pod.spec.preemption_policy != NEVER and priority_of(pod) > min(lowest, 0)


def preempted(pod: Pod, node: NodeInfo) -> list[Pod]:
    """The terminating pods of lower priority on the node that the scheduler has preempted."""
    priority = priority_of(pod)
    return [
        other for other in node.pods if other.terminating and other.disruption_target and priority_of(other) < priority
    ]


def fits_without_lower(evaluation: Evaluation, pod: Pod) -> bool:
    """Return whether the pod fits on its nominated node without the pods of lower priority there.

    The scheduler lists a nominated node only if its own filters pass, on a newer view: for it the victims are gone.
    Which of the pods they were, a cache that is behind does not show.
    """
    node = evaluation.snapshot.nodes.get(pod.nominated_node)
    leaving = [] if node is None else potential_victims(node.pods, pod)
    return node is not None and bool(leaving) and DryRun.of(evaluation, pod, node).without(leaving).fits


def waits_for_preempted(evaluation: Evaluation, pod: Pod, answered: Collection[str]) -> bool:
    """Return whether the nominated node is rejected now and will fit once the preempted pods have left it.

    The scheduler asks for no more victims while it sees a preempted pod. It sees the pod gone before the cache does,
    finds the node still rejected by the policy, and would preempt on the next node.

    answered: UIDs of the victims that preempt answered for this node. They leave even if the cache does not show it
    yet. If they are unknown and the cache lacks the nomination, it lacks these evictions too: then every pod of lower
    priority counts as preempted.
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
