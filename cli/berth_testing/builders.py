"""Builds nodes, pods and clusters for tests, with defaults for all other fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from berth.scheduling.objects import Namespace, NodeInfo, Pod, UnreadableObject, read_namespace, read_node, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot


def node(
    name: str = "node-1",
    labels: Mapping[str, str] | None = None,
    *,
    allocatable: Mapping[str, str] | None = None,
    **spec: Any,
) -> NodeInfo:
    """Make a ready node with 4 CPUs, 16Gi and room for 110 pods. spec: fields of the Node's spec, such as `taints`."""
    found = read_node(
        {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": spec,
            "status": {
                "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110", **(allocatable or {})},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )
    if isinstance(found, UnreadableObject):
        raise ValueError(found.cause)
    if found.defect is not None:
        raise ValueError(found.defect)
    return found


def pod(
    name: str = "pod-1",
    labels: Mapping[str, str] | None = None,
    *,
    namespace: str = "default",
    on: str = "",
    requests: Mapping[str, str] | None = None,
    **spec: Any,
) -> Pod:
    """Make a pod with one container. on: the name of its node; empty for a pending pod. requests: the container's
    requests. spec: further fields of the Pod's spec, such as `tolerations` or `affinity`."""
    found = read_pod(
        {
            "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}},
            "spec": {
                "containers": [{"name": "main", "image": "app", "resources": {"requests": dict(requests or {})}}],
                **({"nodeName": on} if on else {}),
                **spec,
            },
            "status": {"phase": "Running" if on else "Pending"},
        }
    )
    if isinstance(found, UnreadableObject):
        raise ValueError(found.cause)
    return found


def cluster(
    nodes: Iterable[NodeInfo], pods: Iterable[Pod] = (), *, namespaces: Mapping[str, Mapping[str, str]] | None = None
) -> Snapshot:
    """Make a cluster of these nodes and pods. namespaces: the labels of each namespace, by name."""
    read = [
        read_namespace({"metadata": {"name": name, "labels": labels}}) for name, labels in (namespaces or {}).items()
    ]
    return Snapshot.of(nodes, pods, namespaces=[each for each in read if isinstance(each, Namespace)])
