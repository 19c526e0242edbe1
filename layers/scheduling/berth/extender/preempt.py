"""preempt: reviews the victims that the scheduler proposes on each node.

If all nodes are rejected, the scheduler proposes evictions without calling filter. The answer omits nodes that the
policy rejects even after the evictions, and adds victims if the policy needs more room: see
`scheduling/preemption/victim_review.py`. A policy whose plugins do not depend on pods does not change the victims.

The request has complete victims (full mode) or their UIDs (node-cache mode). A node with an unreadable victim is
omitted: evicting only the other victims would not help. If all nodes have such a victim, the call fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from berth.extender.arguments import folded, pod_version_in, read_scheduling_request
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, PreemptOutcome, bad_request, deadline_passed
from berth.extender.ports import REREAD_SECONDS, REREADS, CacheUnavailable, DecisionContext, NodeCache
from berth.extender.reply import AnyDecision, PreemptDecision, Reply, UnjudgedCall, error_reply, reply, status_reply
from berth.scheduling.configuration.document import WhenStale
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.preemption.victim_review import PreemptResult, Proposal, review_victims
from berth.scheduling.preemption.victims import Victims
from berth.scheduling.snapshot.parts import ALL_PARTS, SnapshotPart

MAX_PREEMPTORS = 1000

READS = ALL_PARTS
"""All parts, even if the policy reads fewer: victims are pods, and disruption budgets protect them."""


class AnsweredVictims:
    """The victims that this environment last returned for each pod, by node. Thread-safe.

    The scheduler evicts the victims of one node and nominates the node. Until the cache shows that the victims are
    gone, the next call finds them here. Another environment knows them only by their deletion timestamps.
    """

    def __init__(self) -> None:
        self._by_pod: dict[str, Mapping[str, Victims]] = {}

    def on_nominated_node(self, pod: Pod) -> Collection[str]:
        """Return the UIDs of the victims on the pod's nominated node."""
        victims = self._by_pod.get(pod.uid, {}).get(pod.nominated_node)
        return frozenset() if victims is None else {victim.uid for victim in victims.pods}

    def answer(self, pod: Pod, found: Mapping[str, Victims]) -> None:
        """Store the answer; only the answers for the last MAX_PREEMPTORS pods are kept."""
        if found:
            self._by_pod.pop(pod.uid, None)
            self._by_pod[pod.uid] = found
            for uid in list(self._by_pod)[:-MAX_PREEMPTORS]:
                self._by_pod.pop(uid, None)


failed = status_reply
"""Returns an HTTP error status: the answer does not have an Error field (fact 28)."""

empty_on_failure = partial(error_reply, {"NodeNameToMetaVictims": {}})
"""Returns an answer without nodes, for callers with Basic credentials (fact 28)."""


def answer_preempt(
    body: str | bytes,
    cache: NodeCache,
    failed: Callable[[Failure], Reply] = failed,
    deadline: Deadline = NO_DEADLINE,
    answered: AnsweredVictims | None = None,
    sleep: Callable[[float], None] | None = None,
) -> Reply:
    """Return the accepted candidates as MetaVictims, in both modes (fact 25). answered: answers of earlier calls.
    sleep: None if calls never wait for a cache that is behind."""
    answered = answered or AnsweredVictims()
    arguments = read_preemption_arguments(body)
    if isinstance(arguments, Failure):
        return failed(arguments)
    context = cache.current(deadline, READS)
    if sleep is not None and SnapshotPart.PODS in context.policy.reads:
        # Wait for up to a quarter of a second, until the cache has this version of the pod and all proposed victims. A
        # pod that the cache lacks may be a victim that only Berth's policy requires. If that victim stays, this pod
        # waits forever: the scheduler does not propose victims on a node that passes its own filters.
        version = pod_version_in(body)
        for _ in range(REREADS):
            if not (_is_behind(context, arguments, version) and deadline.decision_seconds()):
                break
            sleep(REREAD_SECONDS)
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


def _is_behind(context: DecisionContext, arguments: PreemptionArguments, version: str) -> bool:
    cluster = context.cluster
    if isinstance(cluster, CacheUnavailable):
        return False
    known = ((cluster.nodes.get(name), proposal.uids) for name, proposal in arguments.proposals.items())
    return context.coverage.covers(version) is False or any(
        node is not None and not {pod.uid for pod in node.pods}.issuperset(uids) for node, uids in known
    )


def _outcome(found: PreemptResult) -> PreemptOutcome:
    if NodeRejection.TOO_COSTLY in found.rejected.values():
        return PreemptOutcome.TOO_COSTLY
    return PreemptOutcome.AGREED if found.victims else PreemptOutcome.NO_CANDIDATES


def _without_cache(
    arguments: PreemptionArguments, cache: CacheUnavailable, failed: Callable[[Failure], Reply]
) -> Reply:
    """Return the answer without a snapshot: an error, because evictions cannot be undone and the scheduler retries. If
    filter passes every node (`whenStale: pass`), the proposed victims are accepted, because filter relies on them."""
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


# ---------------------------------------------------------------------------------------------------------- the request

UNREADABLE_VICTIM = "a victim has no UID or is no pod; without it the others would be evicted for nothing"

NO_CANDIDATES = "the request has no candidates: NodeNameToVictims and NodeNameToMetaVictims are {}"

MAX_VIOLATIONS = 1 << 31


@dataclass(frozen=True, slots=True)
class PreemptionArguments:
    """The pod, and the victims that the scheduler proposes, by node name. unreadable: the reasons of the omitted nodes.
    note: a remark on the request, for the log."""

    pod: Pod
    proposals: Mapping[str, Proposal]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def pod_name(self) -> str:
        """Return `namespace/name`, for the log."""
        return f"{self.pod.namespace}/{self.pod.name}"


def read_preemption_arguments(body: str | bytes) -> PreemptionArguments | Failure:
    request = read_scheduling_request(body, "the request is not a preemption request")
    if isinstance(request, Failure):
        return request
    pod = request.pod
    found = _read_candidates(pod, request.fields)
    return replace(found, pod=f"{pod.namespace}/{pod.name}") if isinstance(found, Failure) else found


def _read_candidates(pod: Pod, arguments: dict[str, object]) -> PreemptionArguments | Failure:
    """Read the victims by node name. The full map takes precedence, because it has the priorities."""
    full, meta = arguments.get("nodenametovictims"), arguments.get("nodenametometavictims")
    listed, read = (meta, _read_meta) if full is None else (full, _read_full)
    if listed is None:
        # Null is an empty map in Go; but a request without both fields belongs to another verb.
        if arguments.keys().isdisjoint(("nodenametovictims", "nodenametometavictims")):
            return bad_request(NO_CANDIDATES.format("missing"))
        return PreemptionArguments(pod, {}, note=NO_CANDIDATES.format("null"))
    if not isinstance(listed, dict):
        return bad_request("NodeNameToVictims or NodeNameToMetaVictims is not an object")
    proposals: dict[str, Proposal] = {}
    unreadable: dict[str, str] = {}
    for node, value in listed.items():
        proposal = read(value)
        if isinstance(proposal, Failure):
            unreadable[node] = proposal.reason
        else:
            proposals[node] = proposal
    if unreadable and not proposals:
        return bad_request(next(iter(unreadable.values())))
    return PreemptionArguments(pod, proposals, unreadable)


def _read_full(value: object) -> Proposal | Failure:
    """Read the `Victims` of a node, which contain complete pods."""
    fields = _victim_fields(value)
    if isinstance(fields, Failure):
        return fields
    pods, violations = fields
    victims = {}
    for pod in map(read_pod, pods):
        if isinstance(pod, UnreadableObject) or not pod.uid:
            return bad_request(UNREADABLE_VICTIM)
        victims[pod.uid] = pod
    return Proposal(tuple(victims), violations, victims)


def _read_meta(value: object) -> Proposal | Failure:
    """Read the `MetaVictims` of a node, which contain only UIDs, in the scheduler's order."""
    fields = _victim_fields(value)
    if isinstance(fields, Failure):
        return fields
    pods, violations = fields
    uids = []
    for pod in pods:
        uid = None
        if isinstance(pod, dict):
            # First check the form that kube-scheduler writes, because there are thousands of victims.
            uid = pod["UID"] if len(pod) == 1 and "UID" in pod else folded(pod).get("uid")
        if not isinstance(uid, str) or not uid:
            return bad_request(UNREADABLE_VICTIM)
        uids.append(uid)
    return Proposal(tuple(dict.fromkeys(uids)), violations)


def _victim_fields(value: object) -> tuple[list[object], int] | Failure:
    """Read `Pods` and `NumPDBViolations` of a node; null means no victims (fact 26)."""
    if value is None:
        return [], 0
    if not isinstance(value, dict):
        return bad_request("the victims of a node are not an object")
    fields = folded(value)
    pods, violations = fields.get("pods"), fields.get("numpdbviolations")
    if not isinstance(pods, list | None):
        return bad_request("the Pods of a node's victims are not a list")
    if isinstance(violations, bool) or not isinstance(violations, int | None):
        return bad_request("NumPDBViolations is not an integer")
    if not 0 <= (violations or 0) < MAX_VIOLATIONS:
        return bad_request("NumPDBViolations is not a number of violations")
    return [pod for pod in pods or () if pod is not None], violations or 0
