"""prioritize: returns a score for each feasible node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from berth.extender.arguments import Passthrough, read_candidates
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, PrioritizeOutcome, deadline_passed
from berth.extender.ports import NodeCache
from berth.extender.reply import (
    AnyDecision,
    Decision,
    Reply,
    UnjudgedCall,
    error_reply,
    host_scores,
    reply,
    status_reply,
)
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.feasibility import TOO_COSTLY

failed = status_reply
"""Returns an HTTP error status: the answer is an array without an Error field. The scheduler ignores the error
(fact 20)."""

empty_on_failure = partial(error_reply, [])
"""Returns no scores, for callers with Basic credentials. The scheduler treats that like an error (fact 18)."""


def answer_prioritize(
    body: str | bytes,
    cache: NodeCache,
    failed: Callable[[Failure], Reply] = failed,
    deadline: Deadline = NO_DEADLINE,
) -> Reply:
    """Return a HostPriorityList with every host once (fact 21) and integer scores (fact 19)."""
    candidates = read_candidates(body, cache, deadline)
    if isinstance(candidates, Failure):
        return failed(candidates)
    pod = candidates.pod
    pod_name = f"{pod.namespace}/{pod.name}"
    if not candidates.names:
        decision: AnyDecision = UnjudgedCall(pod, 0)
        return reply([], PrioritizeOutcome.SCORED, pod=pod_name, detail="0 nodes scored", decision=decision)
    if isinstance(candidates, Passthrough):
        decision = UnjudgedCall(pod, len(candidates.names))
        outcome, detail = PrioritizeOutcome.PASSED, candidates.reason
        names, scores = [*candidates.names], [0] * len(candidates.names)
    else:
        names, left = candidates.names.names, deadline.decision_seconds()
        try:
            found = candidates.policy.timely_scores(pod, candidates.names, candidates.snapshot, left)
        except DeadlineExceeded:
            return failed(deadline_passed(pod_name))
        if found is None:
            # With equal scores the scheduler's own scores choose the node.
            scores = [0] * len(candidates.names)
            outcome, detail = PrioritizeOutcome.TOO_COSTLY, TOO_COSTLY.message
            decision = UnjudgedCall(pod, len(candidates.names), candidates.state)
        else:
            scores = found
            outcome, detail = PrioritizeOutcome.SCORED, f"{len(scores)} nodes scored, {min(scores)} to {max(scores)}"
            decision = Decision(
                pod, candidates.names, candidates.policy, candidates.snapshot, candidates.state, scores=scores
            )
    return reply(host_scores(names, scores), outcome, pod=pod_name, detail=detail, decision=decision)
