"""ExtenderPreemptionArgs: the request of preempt, with complete victims (full mode) or their UIDs (node-cache mode).

A node with an unreadable victim is omitted: evicting only the other victims would not help. If all nodes are omitted,
the answer is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from berth.extender.arguments import folded, read_scheduling_request
from berth.extender.outcomes import Failure, bad_request
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.preemption.victim_review import Proposal

UNREADABLE_VICTIM = "a victim has no UID or is no pod; without it the others would be evicted for nothing"

NO_CANDIDATES = "the request has no candidates: NodeNameToVictims and NodeNameToMetaVictims are {}"

MAX_VIOLATIONS = 1 << 31


@dataclass(frozen=True, slots=True)
class PreemptionArguments:
    """The pod, and the victims that the scheduler proposes, by node name.

    unreadable: the reasons of the omitted nodes. note: a remark on the request, for the log.
    """

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
        # Null is an empty map in Go; but a request without both fields is of another verb.
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
            # The form that kube-scheduler writes, checked first: there are thousands of victims.
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
