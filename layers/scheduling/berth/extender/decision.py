"""What a verb decided, for records of decisions. A verb hands it on with its reply; the endpoint records it.

It refers to what the decision was made of and copies nothing: on 5,000 nodes a copy costs more than the decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from berth.extender.outcomes import Outcome
from berth.extender.ports import UNREAD_CACHE, CacheState
from berth.pods import Binding
from berth.scheduling.evaluation.verdicts import FilterResult
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.victim_review import PreemptResult
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot


class Decision(NamedTuple):
    """One decision about the nodes of a request. Every call makes one, and a tuple is made in a third of the time.

    verdicts: of filter; None where no rule was applied. scores: of prioritize, for each of `nodes`. chosen: the only
    node that filter_onlyone leaves; empty otherwise. totals: by which it was chosen, for each node that passes.
    open_gangs: those that counted for a member of a gang.
    """

    pod: Pod
    nodes: NodeRefs
    policy: Policy
    snapshot: Snapshot
    cache: CacheState
    verdicts: FilterResult | None = None
    scores: Sequence[int] | None = None
    chosen: str = ""
    open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS
    totals: Sequence[int] | None = None


class PreemptDecision(NamedTuple):
    """One review of proposed victims. unreadable: why nodes were left out before the review, by node."""

    pod: Pod
    policy: Policy
    cache: CacheState
    found: PreemptResult
    unreadable: Mapping[str, str]


class BindDecision(NamedTuple):
    """How a bind ended. reason: empty where the pod is on the node."""

    binding: Binding
    reason: str
    cache: CacheState


class UnjudgedCall(NamedTuple):
    """A call that answered without a verdict or a score of any node: there was no state to decide by, scoring took too
    long, or the request has no nodes. nodes: how many the request has."""

    pod: Pod
    nodes: int
    cache: CacheState = UNREAD_CACHE


class FailedCall(NamedTuple):
    """A call that decided nothing. pod: `namespace/name`."""

    pod: str
    reason: str
    cache: CacheState = UNREAD_CACHE


AnyDecision = Decision | PreemptDecision | BindDecision | UnjudgedCall | FailedCall


class DecisionRecorder(ABC):
    """Records of decisions. Threads share it."""

    @abstractmethod
    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        """Called after the answer is ready, and before it is sent: it must be fast. What it raises is no failure of the
        call."""
