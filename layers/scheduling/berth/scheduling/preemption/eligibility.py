"""Which pods may preempt at all (fact 33)."""

from __future__ import annotations

from enum import StrEnum

from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.preemption.priority import NEVER, priority_of
from berth.scheduling.status import Code, Status


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
