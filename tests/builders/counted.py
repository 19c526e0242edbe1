"""Configurations that count resources, with matching nodes and pods."""

from __future__ import annotations

from collections.abc import Mapping

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod, read_node
from berth.scheduling.objects.pod_reading import read_placed_pod

LICENCE = "example.com/licence"
MEMORY = "nvidia.com/gpumem"
PERCENTAGE = "nvidia.com/gpumem-percentage"
SIZES = "example.com/gpus"

LICENCES: Mapping[str, object] = {"name": LICENCE, "capacity": {"nodeLabel": LICENCE}}
"""Licenses, counted as a whole; the node's label of the same name is their number."""

SLICES: Mapping[str, object] = {
    "name": MEMORY,
    "devices": {"sizes": {"nodeAnnotation": SIZES}, "percentName": PERCENTAGE},
}
"""Parts of devices; an annotation of the node lists the sizes of the devices."""

ANNOTATED: Mapping[str, object] = {"name": LICENCE, "requests": {"podAnnotation": "seats"}}
"""Licenses that an annotation of the pod requests."""


def counting(*resources: Mapping[str, object]) -> Counting:
    """Return the counting of these resources; by default, of licences and slices."""
    return Counting(map(ManagedResource.model_validate, resources or (LICENCES, SLICES)))


def configuration(*resources: Mapping[str, object], **others: object) -> BerthConfiguration:
    return BerthConfiguration.model_validate(
        {"profile": "managed-resources", "managedResources": list(resources or (LICENCES, SLICES)), **others}
    )


def counted_node_object(
    name: str = "n", licences: str | None = None, sizes: str | None = None, **allocatable: str
) -> dict[str, object]:
    """Return a v1.Node with these counted resources."""
    labels = {} if licences is None else {LICENCE: licences}
    annotations = {"example.com/other": "x"} | ({} if sizes is None else {SIZES: sizes})
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", **allocatable}},
    }


def counted_node(name: str = "n", licences: str | None = None, sizes: str | None = None) -> NodeInfo:
    """Return the node as the scheduling code reads it."""
    found = read_node(counted_node_object(name, licences, sizes))
    assert isinstance(found, NodeInfo)
    return found


def asking_object(
    name: str = "p",
    node: str = "",
    annotations: Mapping[str, str] | None = None,
    *,
    priority: int | None = None,
    nominated: str = "",
    namespace: str = "ml",
    **requests: str,
) -> dict[str, object]:
    """Return a v1.Pod; `requests` by the last part of the resource's name: licence, gpumem, percentage."""
    names = {"licence": LICENCE, "gpumem": MEMORY, "percentage": PERCENTAGE}
    amounts = {names.get(key, key): amount for key, amount in requests.items()}
    spec: dict[str, object] = {
        "schedulerName": "berth",
        "containers": [{"name": "main", "resources": {"requests": amounts}}],
    }
    if node:
        spec["nodeName"] = node
    if priority is not None:
        spec["priority"] = priority
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "annotations": dict(annotations or {}),
        },
        "spec": spec,
        "status": {"phase": "Pending", "nominatedNodeName": nominated},
    }


def asking(name: str = "p", node: str = "", annotations: Mapping[str, str] | None = None, **others: object) -> Pod:
    """Return the pod as the cache has it."""
    found = read_placed_pod(asking_object(name, node, annotations, **others))  # type: ignore[arg-type]
    assert isinstance(found, Pod)
    return found


def on_device(index: int) -> dict[str, str]:
    """Return the annotation that gives a pod this device of MEMORY."""
    return {"berth.dev/nvidia.com.gpumem": str(index)}
