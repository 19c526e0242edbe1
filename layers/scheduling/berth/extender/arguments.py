"""ExtenderArgs: the request of filter, filter_onlyone and prioritize, in node-cache mode and in full mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from berth.extender.outcomes import Failure, FailureOutcome, bad_request
from berth.extender.ports import CacheUnavailable, Snapshots
from berth.extender.wire import decode_object, folded
from berth.scheduling.objects import NodeInfo, Pod, Unreadable, read_node, read_pod
from berth.scheduling.snapshot import Snapshot

NO_NODES = "the request names no node: NodeNames and Nodes are null or empty"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The pod, the names it may go to (each once, in the request's order), and the state to decide on.

    `items` holds the node objects of full mode, to be echoed; None in node-cache mode.
    """

    pod: Pod
    names: Sequence[str]
    snapshot: Snapshot
    items: Mapping[str, object] | None


def read_candidates(body: str | bytes, snapshots: Snapshots) -> Candidates | Failure:
    """Decode the request and bring the snapshot up to date; in full mode the request itself is the snapshot."""
    arguments = decode_object(body)
    if isinstance(arguments, Failure):
        return arguments
    pod = read_pod(arguments.get("pod"))
    if isinstance(pod, Unreadable):
        return bad_request(f"the request is not a scheduling request: {pod.cause}")
    found = _read_names(arguments, pod, snapshots)
    if isinstance(found, Failure):
        return replace(found, pod=f"{pod.namespace}/{pod.name}")
    return found


def _read_names(arguments: dict[str, object], pod: Pod, snapshots: Snapshots) -> Candidates | Failure:
    # kube-scheduler prefers NodeNames in an answer and falls through to Nodes (fact 12); so do we with a request.
    names, nodes = arguments.get("nodenames"), arguments.get("nodes")
    if names is not None:
        return _node_cache_mode(pod, names, snapshots)
    if nodes is not None:
        return _full_mode(pod, nodes)
    return bad_request(NO_NODES)


def _node_cache_mode(pod: Pod, names: object, snapshots: Snapshots) -> Candidates | Failure:
    if not isinstance(names, list) or not _are_strings(names):
        return bad_request("NodeNames is not a list of strings")
    if not names:
        return bad_request(NO_NODES)
    snapshot = snapshots.current()
    if isinstance(snapshot, CacheUnavailable):
        return Failure(FailureOutcome.CACHE_UNAVAILABLE, snapshot.reason)
    # Twice the same name: answered once, or its scores would be added up (fact 18).
    return Candidates(pod, list(dict.fromkeys(names)), snapshot, None)


def _are_strings(values: list[object]) -> TypeGuard[list[str]]:
    """A third of the time that asking each for its type takes: this is the hot path."""
    try:
        "".join(values)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _full_mode(pod: Pod, nodes: object) -> Candidates | Failure:
    listed = folded(nodes).get("items") if isinstance(nodes, dict) else nodes
    if not isinstance(listed, list | None):
        return bad_request("Nodes.items is not a list")
    infos: dict[str, NodeInfo] = {}
    items: dict[str, object] = {}
    for index, item in enumerate(listed or ()):
        info = read_node(item)
        if isinstance(info, Unreadable):
            return bad_request(f"Nodes.items[{index}] cannot be answered: {info.cause}")
        infos[info.name], items[info.name] = info, item
    if not infos:
        return bad_request(NO_NODES)
    return Candidates(pod, list(infos), Snapshot.of(infos.values()), items)
