"""Decodes the requests of the verbs: the outer objects and the fields that the verbs use.

Keys of the outer objects are compared without regard to case, as encoding/json does (fact 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeGuard

import orjson

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, FailureOutcome, bad_request
from berth.extender.ports import UNKNOWN_COVERAGE, UNREAD_CACHE, CacheState, NodeCache, PodCoverage
from berth.scheduling.configuration.document import WhenStale
from berth.scheduling.fields.reading import name_or_empty, read_list, read_object
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject, read_node, read_pod
from berth.scheduling.objects.pod_texts import SMALL, PodTexts, read_pod_texts
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

MAX_BODY_BYTES = 6_000_000
"""The limit of a Lambda invocation. A larger body does not pass the gateway; with `berth serve` the verb rejects it."""

TOO_LARGE = "the request body is larger than 6 MB; set nodeCacheCapable: true, so that names are sent instead of nodes"


def decode_object(body: str | bytes) -> dict[str, object] | Failure:
    """Decode the body's outer object, with its keys folded to lower case."""
    if not body:
        return bad_request("the request body is empty; expected a JSON object")
    if is_too_large(body):
        return bad_request(TOO_LARGE)
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return bad_request("the request body is not JSON")
    if not isinstance(decoded, dict):
        return bad_request("the request body is not a JSON object")
    return folded(decoded)


def is_too_large(body: str | bytes) -> bool:
    """Return whether the body exceeds the limit in bytes. Text is encoded only if its length is not conclusive: a
    character has 1 to 4 bytes."""
    if isinstance(body, str) and MAX_BODY_BYTES // 4 < len(body) <= MAX_BODY_BYTES and not body.isascii():
        return len(body.encode(errors="surrogatepass")) > MAX_BODY_BYTES
    return len(body) > MAX_BODY_BYTES


def pod_named_in(body: str | bytes) -> str:
    """Return `namespace/name` of the request's pod, for the log line of a failed request; empty if it is unreadable."""
    request = decode_object(body)
    if isinstance(request, Failure):
        return ""
    pod = request.get("pod")
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    if isinstance(metadata, dict):
        return f"{metadata.get('namespace')}/{metadata.get('name')}"
    return f"{request.get('podnamespace')}/{request.get('podname')}"


def folded(obj: dict[str, object]) -> dict[str, object]:
    """Return the object with lower-case keys, as encoding/json matches keys (fact 2). The last of equal keys wins."""
    return {key.casefold(): value for key, value in obj.items()}


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """The request's pod, and its other fields by their names in lower case."""

    pod: Pod
    fields: dict[str, object]


def read_scheduling_request(body: str | bytes, unreadable: str) -> SchedulingRequest | Failure:
    """Decode the request. unreadable: the beginning of a failure's reason, before the cause."""
    pod: Pod | UnreadableObject
    found = _read_texts(body)
    if found is None:
        fields = decode_object(body)
        if isinstance(fields, Failure):
            return fields
        pod = read_pod(fields.get("pod"))
    else:
        pod, fields = found
    if isinstance(pod, UnreadableObject):
        return bad_request(f"{unreadable}: {pod.cause}")
    return SchedulingRequest(pod, fields)


class LastAttempt(Enum):
    """The result of the last attempt to schedule the pod. REJECTED: no node was feasible. ERROR: the attempt failed."""

    NONE = "none"
    REJECTED = "Unschedulable"
    ERROR = "SchedulerError"


@dataclass(frozen=True, slots=True)
class PodVersion:
    """The resourceVersion of the pod in the request, and the result of the last attempt to schedule it."""

    resource_version: str
    last_attempt: LastAttempt


def read_pod_version(body: str | bytes) -> PodVersion:
    """Decode the request again, for the few decisions that depend on the last attempt."""
    fields = decode_object(body)
    pod = read_object({} if isinstance(fields, Failure) else fields.get("pod"), "Pod")
    metadata, status = read_object(pod.get("metadata"), "metadata"), read_object(pod.get("status"), "status")
    found = LastAttempt.NONE
    for condition in read_list(status.get("conditions"), "conditions"):
        # The condition of a gated pod has another reason: the scheduler did not try to schedule it.
        if isinstance(condition, dict) and condition.get("type") == "PodScheduled":
            found = next((each for each in LastAttempt if each.value == condition.get("reason")), found)
    return PodVersion(name_or_empty(metadata.get("resourceVersion")), found)


_VERSION, _VERSION_WITHIN = '"resourceVersion":"', 2_000


def pod_version_in(body: str | bytes) -> str:
    """Return the pod's resourceVersion without decoding: kube-scheduler writes it soon after the pod's names. Return an
    empty string if it is elsewhere."""
    start = body[:_VERSION_WITHIN] if isinstance(body, str) else body[:_VERSION_WITHIN].decode(errors="replace")
    return start.partition(_VERSION)[2].partition('"')[0]


_POD = '{"Pod":{"metadata":'
_SPEC = '},"spec":'
_STATUS = '},"status":'
_ENDS = ('}},"Nodes":null,"NodeNames":[', '}},"NodeNameToVictims":null,"NodeNameToMetaVictims":{')


def _read_texts(body: str | bytes) -> tuple[Pod | UnreadableObject, dict[str, object]] | None:
    """Return the pod and the other fields; None for a small pod, or for a request in an unexpected form."""
    if len(body) < SMALL or is_too_large(body):
        return None
    if isinstance(body, bytes):
        try:
            body = body.decode()
        except UnicodeDecodeError:
            return None
    if not body.startswith(_POD) or any(body.find(end, 0, SMALL) >= 0 for end in _ENDS):
        return None
    end = max(map(body.rfind, _ENDS))
    spec = body.find(_SPEC, 0, max(end, 0))
    status = body.rfind(_STATUS, spec, max(end, 0))
    if spec < 0 or status < 0:
        return None
    texts = PodTexts(
        body[len(_POD) : spec + 1], body[spec + len(_SPEC) : status + 1], body[status + len(_STATUS) : end + 1]
    )
    try:
        fields = folded(orjson.loads("{" + body[end + len("}},") :]))
    except orjson.JSONDecodeError:
        return None
    # Of two `pod` keys the last one wins.
    pod = None if "pod" in fields else read_pod_texts(texts)
    return None if pod is None else (pod, fields)


NO_NODES = "the request has no nodes: NodeNames and Nodes are null"

MAX_NODES = 50_000
"""Ten times Kubernetes' limit for a cluster. This also limits the answer, which has a reason for each name."""

TOO_MANY_NODES = f"the request has more than {MAX_NODES} nodes"


@dataclass(frozen=True, slots=True)
class RequestNodes:
    """The pod, its candidate nodes (each once, in the request's order), and the cluster state for the decision.

    items: the node objects of full mode, which the answer echoes; None in node-cache mode. state: the cache's state,
    for records of decisions. coverage: the version of pods up to which the snapshot is complete; unknown in full mode.
    """

    pod: Pod
    names: NodeRefs
    policy: Policy
    snapshot: Snapshot
    items: Mapping[str, object] | None
    state: CacheState = UNREAD_CACHE
    coverage: PodCoverage = UNKNOWN_COVERAGE


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The pod and the names, if there is no cluster state for the decision. All names pass: the pod is exempt, or the
    configuration has `whenStale: pass`."""

    pod: Pod
    names: Sequence[str]
    reason: str
    exempt: bool


def read_candidates(
    body: str | bytes, cache: NodeCache, deadline: Deadline = NO_DEADLINE
) -> RequestNodes | Passthrough | Failure:
    """Decode the request and update the snapshot; in full mode the request's nodes are the snapshot."""
    request = read_scheduling_request(body, "the request is not a scheduling request")
    if isinstance(request, Failure):
        return request
    pod = request.pod
    cache.asked_about(pod)
    found = _read_names(request.fields, pod, cache, deadline, pod_version_in(body))
    if isinstance(found, Failure):
        return replace(found, pod=f"{pod.namespace}/{pod.name}")
    return found


def _read_names(
    arguments: dict[str, object], pod: Pod, cache: NodeCache, deadline: Deadline, pod_version: str
) -> RequestNodes | Passthrough | Failure:
    # NodeNames takes precedence over Nodes, as in kube-scheduler's reading of an answer (fact 12).
    names, nodes = arguments.get("nodenames"), arguments.get("nodes")
    if names is not None:
        return _node_cache_mode(pod, names, cache, deadline, pod_version)
    if nodes is not None:
        return _full_mode(pod, nodes, cache, deadline)
    return bad_request(NO_NODES)


def _node_cache_mode(
    pod: Pod, names: object, cache: NodeCache, deadline: Deadline, pod_version: str
) -> RequestNodes | Passthrough | Failure:
    if not isinstance(names, list) or not _are_strings(names):
        return bad_request("NodeNames is not a list of strings")
    if len(names) > MAX_NODES:
        return bad_request(TOO_MANY_NODES)
    if not names:
        return _no_candidates(pod, cache, None, deadline)
    context = cache.current(deadline, pod_version=pod_version)
    cluster = context.cluster
    if context.counting_refusal and context.policy.counts(pod):
        return Failure(FailureOutcome.COUNTED_ELSEWHERE, context.counting_refusal)
    if isinstance(cluster, Snapshot):
        # A repeated name is answered once: the scheduler would add up its scores (fact 18).
        refs = NodeRefs.of(names, cluster.nodes.positions)
        return RequestNodes(pod, refs, context.policy, cluster, None, context.state, context.coverage)
    # Exempt pods pass without a cache: they may be needed to repair it.
    exempt = context.policy.exempts(pod)
    if exempt or cluster.when_stale is WhenStale.PASS:
        return Passthrough(pod, list(dict.fromkeys(names)), cluster.reason, exempt)
    return Failure(cluster.outcome, cluster.reason)


def _no_candidates(pod: Pod, cache: NodeCache, items: Mapping[str, object] | None, deadline: Deadline) -> RequestNodes:
    """Return an empty list of candidates, which does not need a snapshot."""
    snapshot = Snapshot.of([])
    return RequestNodes(pod, NodeRefs.of([], snapshot.nodes.positions), cache.policy(deadline), snapshot, items)


def _are_strings(values: list[object]) -> TypeGuard[list[str]]:
    """Check the types with one join: on the hot path, it takes a third of the time of a check for each name."""
    try:
        "".join(values)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _full_mode(pod: Pod, nodes: object, cache: NodeCache, deadline: Deadline) -> RequestNodes | Failure:
    listed = folded(nodes).get("items") if isinstance(nodes, dict) else nodes
    if not isinstance(listed, list | None):
        return bad_request("Nodes.items is not a list")
    if listed is not None and len(listed) > MAX_NODES:
        return bad_request(TOO_MANY_NODES)
    infos: dict[str, NodeInfo] = {}
    items: dict[str, object] = {}
    for index, item in enumerate(listed or ()):
        info = read_node(item)
        if isinstance(info, UnreadableObject):
            return bad_request(f"Nodes.items[{index}] cannot be answered: {info.cause}")
        infos[info.name], items[info.name] = info, item
    if not infos:
        return _no_candidates(pod, cache, {}, deadline)
    policy = cache.policy(deadline)
    snapshot: Snapshot | Failure = Snapshot.of(infos.values())
    if policy.counts(pod) or policy.plans(pod):
        policy, snapshot = _with_cached_pods(infos.values(), pod, cache, deadline)
    if isinstance(snapshot, Failure):
        return snapshot
    return RequestNodes(pod, NodeRefs.of(list(infos), snapshot.nodes.positions), policy, snapshot, items)


def _with_cached_pods(
    nodes: Iterable[NodeInfo], pod: Pod, cache: NodeCache, deadline: Deadline
) -> tuple[Policy, Snapshot | Failure]:
    """Return the request's nodes with their pods from the cache, because the request does not contain pods."""
    context = cache.current(deadline)
    cluster = context.cluster
    if context.counting_refusal and context.policy.counts(pod):
        return context.policy, Failure(FailureOutcome.COUNTED_ELSEWHERE, context.counting_refusal)
    if isinstance(cluster, Snapshot):
        return context.policy, cluster.with_nodes(nodes)
    if cluster.when_stale is WhenStale.PASS:
        # bind still counts the pod's resources.
        return context.policy, Snapshot.of(nodes)
    return context.policy, Failure(cluster.outcome, cluster.reason)
