"""Requests as kube-scheduler sends them: every field is present, and unset fields are null (fact 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from tests.builders.pods import pod_object

Request = dict[str, object]


def cache_mode(names: Sequence[str] | None, pod: Request | None = None) -> Request:
    """Return a request of filter, filter_onlyone or prioritize with `nodeCacheCapable: true`."""
    return {
        "Pod": pod_object() if pod is None else pod,
        "Nodes": None,
        "NodeNames": None if names is None else list(names),
    }


def full_mode(nodes: Sequence[object] | None, pod: Request | None = None) -> Request:
    """Return a request of filter, filter_onlyone or prioritize with `nodeCacheCapable: false`."""
    return {
        "Pod": pod_object() if pod is None else pod,
        "Nodes": {"metadata": {}, "items": None if nodes is None else list(nodes)},
        "NodeNames": None,
    }


def binding(pod_name: str = "train-0", namespace: str = "ml", uid: str = "uid-train-0", node: str = "n10") -> Request:
    return {"PodName": pod_name, "PodNamespace": namespace, "PodUID": uid, "Node": node}


def victims_by_uid(candidates: Mapping[str, Sequence[str]], violations: int = 0, pod: Request | None = None) -> Request:
    """Return a request of preempt in cache mode, with UIDs by node."""
    return {
        "Pod": pod_object("urgent", priority=1000) if pod is None else pod,
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
            for node, uids in candidates.items()
        },
    }


def victims_in_full(
    candidates: Mapping[str, Sequence[object]], violations: int = 0, pod: Request | None = None
) -> Request:
    """Return a request of preempt in full mode, with pod objects by node."""
    return {
        "Pod": pod_object("urgent", priority=1000) if pod is None else pod,
        "NodeNameToVictims": {
            node: {"Pods": list(pods), "NumPDBViolations": violations} for node, pods in candidates.items()
        },
        "NodeNameToMetaVictims": None,
    }


def body_of(request: object) -> str:
    return orjson.dumps(request).decode()
