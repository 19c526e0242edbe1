"""prioritize: how much the pod should go to each of the feasible nodes."""

from __future__ import annotations

from berth.extender.arguments import read_candidates
from berth.extender.outcomes import Failure, PrioritizeOutcome
from berth.extender.ports import Snapshots
from berth.extender.reply import Reply, reply, status_reply
from berth.scheduling.policy import Policy


def answer_prioritize(body: str | bytes, policy: Policy, snapshots: Snapshots) -> Reply:
    """HostPriorityList: every host once (fact 21), with an integer score (fact 19)."""
    candidates = read_candidates(body, snapshots)
    if isinstance(candidates, Failure):
        return failed(candidates)
    pod = candidates.pod
    scores = policy.scores(pod, candidates.names, candidates.snapshot)
    hosts = [{"Host": name, "Score": score} for name, score in zip(candidates.names, scores, strict=True)]
    return reply(
        hosts,
        PrioritizeOutcome.SCORED,
        pod=f"{pod.namespace}/{pod.name}",
        detail=f"{len(hosts)} nodes scored, {min(scores)} to {max(scores)}",
    )


def failed(failure: Failure) -> Reply:
    """A bare array has no room for an error: the scheduler is told by status, and swallows it (fact 20)."""
    return status_reply(failure)
