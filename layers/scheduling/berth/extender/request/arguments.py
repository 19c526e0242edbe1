"""ExtenderArgs: the request of filter, filter_onlyone and prioritize, in node-cache mode and in full mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, FailureOutcome, bad_request
from berth.extender.ports import UNKNOWN_COVERAGE, UNREAD_CACHE, CacheState, NodeCache, PodCoverage
from berth.extender.request.scheduling_request import read_scheduling_request
from berth.extender.request.wire import folded
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject, read_node
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

NO_NODES = "the request has no nodes: NodeNames and Nodes are null"

MAX_NODES = 50_000
"""Ten times Kubernetes' limit for a cluster. An answer has a reason for each name, so it bounds the answer, too."""

TOO_MANY_NODES = f"the request has more than {MAX_NODES} nodes"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The pod, its candidate nodes (each once, in the request's order), and the state to decide on.

    items: the node objects of full mode, which the answer echoes; None in node-cache mode. state: for records of
    decisions. coverage: how far the snapshot follows the pods; unknown in full mode.
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
    """The pod and the names, where there is no state to decide on. All names pass: the pod is exempt, or the
    configuration has `whenStale: pass`."""

    pod: Pod
    names: Sequence[str]
    reason: str
    exempt: bool


def read_candidates(
    body: str | bytes, cache: NodeCache, deadline: Deadline = NO_DEADLINE
) -> Candidates | Passthrough | Failure:
    """Decode the request and bring the snapshot up to date; in full mode the request itself is the snapshot."""
    request = read_scheduling_request(body, "the request is not a scheduling request")
    if isinstance(request, Failure):
        return request
    pod = request.pod
    cache.asked_about(pod)
    found = _read_names(request.fields, pod, cache, deadline)
    if isinstance(found, Failure):
        return replace(found, pod=f"{pod.namespace}/{pod.name}")
    return found


def _read_names(
    arguments: dict[str, object], pod: Pod, cache: NodeCache, deadline: Deadline
) -> Candidates | Passthrough | Failure:
    # NodeNames takes precedence over Nodes, as in kube-scheduler's reading of an answer (fact 12).
    names, nodes = arguments.get("nodenames"), arguments.get("nodes")
    if names is not None:
        return _node_cache_mode(pod, names, cache, deadline)
    if nodes is not None:
        return _full_mode(pod, nodes, cache, deadline)
    return bad_request(NO_NODES)


def _node_cache_mode(
    pod: Pod, names: object, cache: NodeCache, deadline: Deadline
) -> Candidates | Passthrough | Failure:
    if not isinstance(names, list) or not _are_strings(names):
        return bad_request("NodeNames is not a list of strings")
    if len(names) > MAX_NODES:
        return bad_request(TOO_MANY_NODES)
    if not names:
        return _no_candidates(pod, cache, None, deadline)
    context = cache.current(deadline)
    cluster = context.cluster
    if context.counting_refusal and context.policy.counts(pod):
        return Failure(FailureOutcome.COUNTED_ELSEWHERE, context.counting_refusal)
    if isinstance(cluster, Snapshot):
        # A repeated name is answered once: the scheduler would add up its scores (fact 18).
        refs = NodeRefs.of(names, cluster.nodes.positions)
        return Candidates(pod, refs, context.policy, cluster, None, context.state, context.coverage)
    # Exempt pods pass without a cache: they may be needed to repair it.
    exempt = context.policy.exempts(pod)
    if exempt or cluster.when_stale is WhenStale.PASS:
        return Passthrough(pod, list(dict.fromkeys(names)), cluster.reason, exempt)
    return Failure(cluster.outcome, cluster.reason)


def _no_candidates(pod: Pod, cache: NodeCache, items: Mapping[str, object] | None, deadline: Deadline) -> Candidates:
    """An empty list has an empty answer. It needs no snapshot."""
    snapshot = Snapshot.of([])
    return Candidates(pod, NodeRefs.of([], snapshot.nodes.positions), cache.policy(deadline), snapshot, items)


def _are_strings(values: list[object]) -> TypeGuard[list[str]]:
    """Takes a third of the time of a type check for each name: this is the hot path."""
    try:
        "".join(values)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _full_mode(pod: Pod, nodes: object, cache: NodeCache, deadline: Deadline) -> Candidates | Failure:
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
    return Candidates(pod, NodeRefs.of(list(infos), snapshot.nodes.positions), policy, snapshot, items)


def _with_cached_pods(
    nodes: Iterable[NodeInfo], pod: Pod, cache: NodeCache, deadline: Deadline
) -> tuple[Policy, Snapshot | Failure]:
    """The request's nodes with their pods from the cache: the request has no pods."""
    context = cache.current(deadline)
    cluster = context.cluster
    if context.counting_refusal and context.policy.counts(pod):
        return context.policy, Failure(FailureOutcome.COUNTED_ELSEWHERE, context.counting_refusal)
    if isinstance(cluster, Snapshot):
        return context.policy, cluster.with_nodes(nodes)
    if cluster.when_stale is WhenStale.PASS:
        # bind counts all the same.
        return context.policy, Snapshot.of(nodes)
    return context.policy, Failure(cluster.outcome, cluster.reason)
