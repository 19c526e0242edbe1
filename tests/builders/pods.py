"""Pods: as values for decisions, and as the objects that Kubernetes sends."""

from __future__ import annotations

from collections.abc import Mapping

from berth.scheduling.objects import Pod, read_pod


def pod(
    name: str = "train-0",
    namespace: str = "ml",
    uid: str = "uid-train-0",
    *,
    priority: int | None = None,
    controller_kind: str = "",
) -> Pod:
    """The pod of a decision."""
    read = read_pod(pod_object(name, namespace, uid, priority=priority, controller_kind=controller_kind))
    assert isinstance(read, Pod)
    return read


def pod_object(
    name: str = "train-0",
    namespace: str = "ml",
    uid: str | None = None,
    *,
    priority: int | None = None,
    controller_kind: str = "",
    node_name: str = "",
    nominated_node: str = "",
    requests: Mapping[str, str] | None = None,
    init_requests: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """A v1.Pod as the scheduler sends it: without kind and apiVersion (fact 2)."""
    metadata: dict[str, object] = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}"}
    if controller_kind:
        metadata["ownerReferences"] = [
            {"kind": controller_kind, "name": "owner", "uid": "uid-owner", "controller": True}
        ]
    spec: dict[str, object] = {
        "schedulerName": "berth",
        "containers": [{"name": "main", "resources": {"requests": dict(requests or {})}}],
    }
    if init_requests is not None:
        spec["initContainers"] = [{"name": "init", "resources": {"requests": dict(init_requests)}}]
    if priority is not None:
        spec["priority"] = priority
    if node_name:
        spec["nodeName"] = node_name
    status: dict[str, object] = {"phase": "Pending"}
    if nominated_node:
        status["nominatedNodeName"] = nominated_node
    return {"metadata": metadata, "spec": spec, "status": status}
