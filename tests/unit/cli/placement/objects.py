"""Objects of a dump, as kubectl prints them, with the fields that changes read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from berth_cli.placement.changed_objects import ChangedObjects

Object = dict[str, Any]


def node(name: str, cpu: str = "4", taints: Iterable[Mapping[str, str]] = (), **labels: str) -> Object:
    labels = {"kubernetes.io/hostname": name, **labels}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["web:1"], "sizeBytes": 1}],
        },
    }


def pod(name: str, on: str = "", owner: str = "", namespace: str = "default", cpu: str = "1", **more: Any) -> Object:
    """Return a pod. owner: `Kind/name` of its controller."""
    kind, _, owned_by = owner.partition("/")
    owners = [{"apiVersion": "apps/v1", "kind": kind, "name": owned_by, "controller": True}] if owner else []
    spec: Object = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    if on:
        spec["nodeName"] = on
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "ownerReferences": owners}
    return {
        "kind": "Pod",
        "metadata": {**metadata, **more.pop("metadata", {})},
        "spec": {**spec, **more},
        "status": {"phase": "Running" if on else "Pending"},
    }


def deployed(name: str, on: str = "", of: str = "web", created: str = "", **more: Any) -> Object:
    """Return a pod of the Deployment `of`, whose template has the hash 5d."""
    metadata = {"labels": {"app": of, "pod-template-hash": "5d"}, "creationTimestamp": created}
    return pod(name, on, f"ReplicaSet/{of}-5d", metadata=metadata, **more)


def gang(size: int, *on: str, name: str = "train", cpu: str = "3", **more: Any) -> list[Object]:
    """Return the members of a gang of this size: the first members on these nodes, the others without a node. Two
    members that request 3 cpus do not fit on one node."""
    annotations = {"berth.dev/gang": name, "berth.dev/gang-size": str(size)}
    places = [*on, *[""] * (size - len(on))]
    return [
        pod(f"{name}-{index}", place, cpu=cpu, metadata={"annotations": annotations}, **more)
        for index, place in enumerate(places)
    ]


def pods(found: ChangedObjects | Iterable[Object]) -> dict[str, str]:
    objects: Iterable[Any] = found.objects if isinstance(found, ChangedObjects) else found
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in objects if each["kind"] == "Pod"}
