"""The record of a call that has no verdict on each node of a request: preempt, bind, and any call that failed or judged
no node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from berth.extender.decision import BindDecision, FailedCall, PreemptDecision, UnjudgedCall
from berth.extender.outcomes import Outcome
from berth.extender.ports import CacheState
from berth.scheduling.preemption.victim_review import NodeRejection
from berth.scheduling.reason_code import ReasonCode

MOST_EXAMPLES = 3
MOST_VICTIM_NODES = 10


@dataclass(frozen=True, slots=True)
class RejectedProposals:
    """The proposed nodes that one reason rejects: how many, and the first of them."""

    code: ReasonCode
    reason: str
    count: int
    examples: Sequence[str]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """at: seconds since the epoch. uid, profile: empty where the call does not know them. nodes: those of the request.
    feasible: of bind 1 if the pod is on the node; of preempt the accepted nodes. victims: the number of victims of the
    first accepted nodes. error: why a bind or a call failed."""

    at: float
    verb: str
    outcome: Outcome
    milliseconds: float
    namespace: str
    name: str
    uid: str
    cache: CacheState
    profile: str = ""
    nodes: int = 0
    feasible: int | None = None
    chosen: str = ""
    rejected: Sequence[RejectedProposals] = ()
    victims: Mapping[str, int] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def of(
        cls,
        verb: str,
        outcome: Outcome,
        decision: PreemptDecision | BindDecision | UnjudgedCall | FailedCall,
        at: float,
        milliseconds: float,
    ) -> CallRecord:
        """at: seconds since the epoch."""
        match decision:
            case BindDecision(binding, reason, cache):
                return cls(
                    at,
                    verb,
                    outcome,
                    milliseconds,
                    binding.namespace,
                    binding.pod_name,
                    binding.pod_uid,
                    cache,
                    nodes=1,
                    feasible=0 if reason else 1,
                    chosen=binding.node,
                    error=reason,
                )
            case PreemptDecision(pod, policy, cache, found, unreadable):
                nodes = len(found.victims) + len(found.rejected) + len(unreadable)
                return cls(
                    at,
                    verb,
                    outcome,
                    milliseconds,
                    pod.namespace,
                    pod.name,
                    pod.uid,
                    cache,
                    policy.profile_of(pod).name,
                    nodes,
                    len(found.victims),
                    rejected=_groups(found.rejected, unreadable),
                    victims={node: len(found.victims[node].pods) for node in sorted(found.victims)[:MOST_VICTIM_NODES]},
                )
            case UnjudgedCall(pod, nodes, cache):
                return cls(at, verb, outcome, milliseconds, pod.namespace, pod.name, pod.uid, cache, nodes=nodes)
            case FailedCall(named, reason, cache):
                namespace, _, name = named.partition("/")
                return cls(at, verb, outcome, milliseconds, namespace, name, "", cache, error=reason)


def _groups(rejected: Mapping[str, NodeRejection], unreadable: Mapping[str, str]) -> Sequence[RejectedProposals]:
    """The reason of most nodes first."""
    found: dict[tuple[ReasonCode, str], list[str]] = {}
    for node, rejection in rejected.items():
        found.setdefault((rejection.reason_code, str(rejection)), []).append(node)
    for node, reason in unreadable.items():
        found.setdefault((ReasonCode.VICTIM_UNREADABLE, reason), []).append(node)
    groups = [
        RejectedProposals(code, reason, len(nodes), tuple(nodes[:MOST_EXAMPLES]))
        for (code, reason), nodes in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.count, group.reason)))
