"""preempt: a review of the victims that the scheduler proposes on each node.

When no node fits, the scheduler proposes evictions without asking filter. The answer leaves out nodes that the policy
rejects even then, and adds victims where the policy needs more room: see `scheduling/preemption/victim_review.py`. A
policy whose plugins do not look at pods leaves the victims as they are.
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
"""Victims are pods, and disruption budgets protect them, whatever the policy reads."""


class AnsweredVictims:
    """The victims that this environment answered last for each pod, by node.

    The scheduler evicts those of one node and nominates it. Until the cache shows that they have left, the next call
    knows it from here. Another environment does not; it then goes by the marks of deletion alone. Threads share it.
    """

    def __init__(self) -> None:
        self._by_pod: dict[str, Mapping[str, Victims]] = {}

    def on_nominated_node(self, pod: Pod) -> Collection[str]:
        """Return the UIDs of the victims on the pod's nominated node."""
        victims = self._by_pod.get(pod.uid, {}).get(pod.nominated_node)
        return frozenset() if victims is None else {victim.uid for victim in victims.pods}

    def answer(self, pod: Pod, found: Mapping[str, Victims]) -> None:
        """Remember the answer; of many pods only the latest."""
        if found:
            self._by_pod.pop(pod.uid, None)
            self._by_pod[pod.uid] = found
            for uid in list(self._by_pod)[:-MAX_PREEMPTORS]:
                self._by_pod.pop(uid, None)


def failed(failure: Failure) -> Reply:
    """There is no Error field: a status other than 200 is the only signal (fact 28)."""
    return status_reply(failure)


def empty_on_failure(failure: Failure) -> Reply:
    """Behind Basic credentials: no node can be preempted (fact 28)."""
    return error_reply({"NodeNameToMetaVictims": {}}, failure)


def answer_preempt(
    body: str | bytes,
    cache: NodeCache,
    failed: Callable[[Failure], Reply] = failed,
    deadline: Deadline = NO_DEADLINE,
    answered: AnsweredVictims | None = None,
) -> Reply:
    """The accepted candidates as MetaVictims, in both modes (fact 25). answered: by the calls before this one."""
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
    """The answer without a snapshot: an error, because an eviction cannot be taken back and the scheduler tries again.

    Where filter passes every node (`whenStale: pass`), the proposed victims pass, too: filter counts on that room.
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
