"""The node that preemption has made room on, while the room is not free yet (fact 15a)."""

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
    """Why a pod may not, in kube-scheduler's words.

    NEVER: its own policy. WAITING: preemption has made room for it on its nominated node, and the room is not free yet;
    to evict more meanwhile would be for nothing.
    """

    NEVER = "not eligible due to preemptionPolicy=Never."
    WAITING = "not eligible due to a terminating pod on the nominated node."


def ineligible(pod: Pod, nominated: NodeInfo | None, status: Status | None) -> Ineligible | None:
    """None: it may. `nominated`, `status`: its nominated node, where that exists, and the cycle's verdict on it."""
    if pod.spec.preemption_policy == NEVER:
        return Ineligible.NEVER
    if nominated is None or status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return None
    return Ineligible.WAITING if preempted(pod, nominated) else None


def preempted(pod: Pod, node: NodeInfo) -> list[Pod]:
    """The pods of lower priority on the node that are on their way out because the scheduler has preempted them."""
    priority = priority_of(pod)
    return [
        other for other in node.pods if other.terminating and other.disruption_target and priority_of(other) < priority
    ]


def fits_without_preempted(evaluation: Evaluation, pod: Pod) -> bool:
    """Whether the pod will fit on its nominated node as soon as those have left that were preempted there."""
    node = evaluation.snapshot.nodes.get(pod.nominated_node)
    leaving = [] if node is None else preempted(pod, node)
    return node is not None and bool(leaving) and DryRun.of(evaluation, pod, node).without(leaving).fits


def waits_for_preempted(evaluation: Evaluation, pod: Pod) -> bool:
    """Whether the node does not do as yet, and will then, as far as the cache can know.

    The scheduler does not ask for more victims while it sees one of those leaving. But it sees them gone before the
    cache does, finds the node rejected by a policy that still counts them, and would go on to the next node. A cache
    that has not heard of the nomination has not heard of these evictions either: then all that may have been evicted
    count as leaving.
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
