"""Pods: as values for decisions, and as the objects that Kubernetes sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.scheduling.objects import Pod, read_pod


def pod(
    name: str = "train-0",
    namespace: str = "ml",
    uid: str = "uid-train-0",
    *,
    priority: int | None = None,
    controller_kind: str = "",
) -> Pod:
    """Return the pod as the scheduling code reads it."""
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
    """Return a v1.Pod as the scheduler sends it: without kind and apiVersion (fact 2)."""
    metadata: dict[str, object] = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}"}
    if controller_kind:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": controller_kind, "name": "owner", "uid": "uid-owner", "controller": True}
        ]
    spec: dict[str, object] = {
        "schedulerName": "berth-scheduler",
        "containers": [{"name": "main", "resources": {"requests": dict(requests or {})}}],
    }
    if controller_kind == "DaemonSet":
        spec |= daemon_set_fields("node-1")
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


def daemon_set_fields(node_name: str) -> dict[str, Any]:
    """Return the fields that the DaemonSet controller sets in the spec of a pod for that node."""
    taints = ["not-ready:NoExecute", "unreachable:NoExecute"]
    taints += [f"{name}:NoSchedule" for name in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")]
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [fields]}}
    return {
        "affinity": {"nodeAffinity": required},
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
            for key, _, effect in (taint.partition(":") for taint in taints)
        ],
    }


def pod_with(
    name: str = "p",
    labels: Mapping[str, str] | None = None,
    *,
    namespace: str = "default",
    status: Mapping[str, object] | None = None,
    metadata: Mapping[str, object] | None = None,
    requests: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a v1.Pod of a dump, with these fields of its spec; by default it has a container with `requests`."""
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels, **(metadata or {})},
        "spec": {"schedulerName": "default-scheduler", "containers": [container(**(requests or {}))], **spec},
        "status": {"phase": "Pending", **(status or {})},
    }


def tried(pod: Mapping[str, Any], version: str = "0", reason: str = "Unschedulable") -> dict[str, Any]:
    """Return the pod with this resource version, after an attempt to schedule it failed."""
    failed = {"type": "PodScheduled", "status": "False", "reason": reason}
    status = {**pod["status"], "conditions": [*pod["status"].get("conditions", ()), failed]}
    return {**pod, "metadata": {**pod["metadata"], "resourceVersion": version}, "status": status}


def preempted(name: str, node: str, **requests: str) -> dict[str, Any]:
    """Return a pod on this node that the scheduler has preempted and that is being deleted."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    deleted, status = {"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"phase": "Running", "conditions": [condition]}
    return pod_with(name, status=status, metadata=deleted, requests=requests, nodeName=node)


def container(name: str = "main", restart_policy: str | None = None, **requests: str) -> dict[str, Any]:
    """Return a v1.Container with these requests; `restart_policy="Always"` makes an init container a sidecar."""
    found: dict[str, Any] = {"name": name, "image": "nginx", "resources": {"requests": requests}}
    if restart_policy is not None:
        found["restartPolicy"] = restart_policy
    return found
