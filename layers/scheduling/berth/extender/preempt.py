"""preempt: reviews the victims that the scheduler proposes on each node.

If all nodes are rejected, the scheduler proposes evictions without calling filter. The answer omits nodes that the
policy rejects even after the evictions, and adds victims if the policy needs more room: see
`scheduling/preemption/victim_review.py`. A policy whose plugins do not depend on pods does not change the victims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, PreemptOutcome, deadline_passed
from berth.extender.ports import CacheUnavailable, NodeCache
from berth.extender.preemption_arguments import PreemptionArguments, read_preemption_arguments
from berth.extender.reply import AnyDecision, PreemptDecision, Reply, UnjudgedCall, error_reply, reply, status_reply
from berth.scheduling.configuration.document import WhenStale
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.preemption.victim_review import PreemptResult, review_victims
from berth.scheduling.preemption.victims import Victims
from berth.scheduling.snapshot.parts import ALL_PARTS

MAX_PREEMPTORS = 1000

READS = ALL_PARTS
"""All parts, even if the policy reads fewer: victims are pods, and disruption budgets protect them."""


class AnsweredVictims:
    """The victims that this environment last returned for each pod, by node. Thread-safe.

    The scheduler evicts the victims of one node and nominates the node. Until the cache shows that the victims are
    gone, the next call finds them here. Another environment only uses the victims' deletion timestamps.
    """

    def __init__(self) -> None:
        self._by_pod: dict[str, Mapping[str, Victims]] = {}

    def on_nominated_node(self, pod: Pod) -> Collection[str]:
        """Return the UIDs of the victims on the pod's nominated node."""
        victims = self._by_pod.get(pod.uid, {}).get(pod.nominated_node)
        return frozenset() if victims is None else {victim.uid for victim in victims.pods}

    def answer(self, pod: Pod, found: Mapping[str, Victims]) -> None:
        """Store the answer; of many pods only the most recent are kept."""
        if found:
            self._by_pod.pop(pod.uid, None)
            self._by_pod[pod.uid] = found
            for uid in list(self._by_pod)[:-MAX_PREEMPTORS]:
                self._by_pod.pop(uid, None)


def failed(failure: Failure) -> Reply:
    """Return an HTTP error status: the answer does not have an Error field (fact 28)."""
    return status_reply(failure)


def empty_on_failure(failure: Failure) -> Reply:
    """Return an answer without nodes, for callers with Basic credentials (fact 28)."""
    return error_reply({"NodeNameToMetaVictims": {}}, failure)


def answer_preempt(
    body: str | bytes,
    cache: NodeCache,
    failed: Callable[[Failure], Reply] = failed,
    deadline: Deadline = NO_DEADLINE,
    answered: AnsweredVictims | None = None,
) -> Reply:
    """Return the accepted candidates as MetaVictims, in both modes (fact 25). answered: answers of earlier calls."""
    answered = answered or AnsweredVictims()
    arguments = read_preemption_arguments(body)
    if isinstance(arguments, Failure):
        return failed(arguments)
    context = cache.current(deadline, READS)
    if isinstance(context.cluster, CacheUnavailable):
        return _without_cache(arguments, context.cluster, failed)
    left = deadline.decision_seconds()
    try:
        found = context.policy.review_victims(
            arguments.pod, arguments.proposals, context.cluster, left, answered.on_nominated_node(arguments.pod)
        )
    except DeadlineExceeded:
        return failed(deadline_passed(arguments.pod_name))
    answered.answer(arguments.pod, found.victims)
    decision = PreemptDecision(arguments.pod, context.policy, context.state, found, arguments.unreadable)
    return _reply(arguments, found, _outcome(found), decision=decision)


def _outcome(found: PreemptResult) -> PreemptOutcome:
    if NodeRejection.TOO_COSTLY in found.rejected.values():
        return PreemptOutcome.TOO_COSTLY
    return PreemptOutcome.AGREED if found.victims else PreemptOutcome.NO_CANDIDATES


def _without_cache(
    arguments: PreemptionArguments, cache: CacheUnavailable, failed: Callable[[Failure], Reply]
) -> Reply:
    """Return the answer without a snapshot: an error, because evictions cannot be undone and the scheduler retries.

    If filter passes every node (`whenStale: pass`), the proposed victims are accepted, because filter relies on them.
    """
    if cache.when_stale is WhenStale.PASS:
        found = review_victims(None, arguments.pod, arguments.proposals, {})
        decision = UnjudgedCall(arguments.pod, len(arguments.proposals) + len(arguments.unreadable))
        return _reply(arguments, found, PreemptOutcome.PASSED, cache.reason, decision)
    return failed(Failure(cache.outcome, cache.reason, arguments.pod_name))


def _reply(
    arguments: PreemptionArguments,
    found: PreemptResult,
    outcome: PreemptOutcome,
    why: str = "",
    decision: AnyDecision | None = None,
) -> Reply:
    asked = len(arguments.proposals) + len(arguments.unreadable)
    rejected = Counter([*arguments.unreadable.values(), *found.rejected.values()])
    details = [why, arguments.note, f"{len(found.victims)} of {asked} nodes with victims"]
    details += [f"{count} left out: {reason}" for reason, count in rejected.items()]
    detail = "; ".join(filter(None, details))
    return reply(_encode(found.victims), outcome, pod=arguments.pod_name, detail=detail, decision=decision)


def _encode(found: Mapping[str, Victims]) -> dict[str, object]:
    return {
        "NodeNameToMetaVictims": {
            node: {
                "Pods": [{"UID": pod.uid} for pod in victims.pods],
                "NumPDBViolations": victims.num_pdb_violations,
            }
            for node, victims in found.items()
        }
    }
