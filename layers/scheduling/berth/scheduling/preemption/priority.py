"""The part of preemption that every verb needs: priorities, the configuration, and reasons for rejection."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from math import inf
from typing import Self

from pydantic import BaseModel, ConfigDict

from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot

NEVER = "Never"


def priority_of(pod: Pod) -> int:
    """Return the priority in the pod's spec; 0 if it is absent. The scheduler does not read PriorityClasses either."""
    return pod.spec.priority or 0


def by_importance(pod: Pod) -> tuple[int, float]:
    """Return a sort key: the highest priority first, then the earliest start; pods that have not started are last."""
    return -(pod.spec.priority or 0), inf if pod.start_time is None else pod.start_time


NO_UIDS: Collection[str] = frozenset()


class Choose(StrEnum):
    """The nodes that preempt returns. ALL: every accepted node; the scheduler chooses. ONE: only the best node."""

    ONE = "one"
    ALL = "all"


class PreemptionConfiguration(BaseModel):
    """The section `preemption` of the configuration. Use `choose: one` only if no other extender follows: later
    extenders and the scheduler then get a single node."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    choose: Choose = Choose.ALL


class NodeRejection(StrEnum):
    """The reason for rejecting a proposed node: a text and its code. NOT_BEST: `choose: one` selects another node."""

    reason_code: ReasonCode

    def __new__(cls, text: str, reason_code: ReasonCode) -> Self:
        found = str.__new__(cls, text)
        found._value_, found.reason_code = text, reason_code
        return found

    NEVER = "the pod's preemptionPolicy is Never", ReasonCode.PREEMPTION_POLICY_NEVER
    WAITING = "room for the pod is coming on its nominated node", ReasonCode.NOMINATED_NODE_PENDING
    NOT_LOWER = "a victim's priority is not lower than the pod's", ReasonCode.VICTIM_NOT_LOWER
    BARRED = "no eviction makes the node good for the pod", ReasonCode.PREEMPTION_NOT_HELPFUL
    NO_ROOM = "there is no room even without all pods of lower priority", ReasonCode.NO_ROOM_BY_PREEMPTION
    NO_VICTIM = "no victim is proposed and none is needed", ReasonCode.NO_VICTIM_NEEDED
    TOO_COSTLY = "the pod's rules take too long to evaluate", ReasonCode.TOO_COSTLY
    NOT_BEST = "another node is better", ReasonCode.NOT_BEST_CANDIDATE
    GANG = "a gang does not evict pods for a part of itself", ReasonCode.PART_OF_GANG


def may_preempt(pod: Pod, snapshot: Snapshot) -> bool:
    """Return whether there may be pods that this pod can evict. A pod without a priority class has the priority 0."""
    lowest = min((each.value for each in snapshot.priority_classes.values()), default=0)
    return pod.spec.preemption_policy != NEVER and priority_of(pod) > min(lowest, 0)
