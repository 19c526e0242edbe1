"""Pods and nodes, reduced to the fields that decisions read.

Objects come from three places (a request's body, the cache, a dump) in the one shape Kubernetes gives them, so there is
one reading of each. Input is hostile: a field of the wrong type never raises. On a node it becomes its `defect`, which
filters that node alone; on a pod it makes the pod unreadable as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeGuard

NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pod:
    """The pod of a request. `priority` is None where the API server has not resolved it."""

    name: str
    namespace: str
    uid: str
    priority: int | None = None
    scheduler_name: str = ""
    controller_kind: str = ""


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """What Berth keeps of a node: its name and labels. A `defect` says why it cannot be decided on."""

    name: str
    labels: Mapping[str, str]
    defect: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that is not what it should be; `cause` names the field."""

    cause: str


LABELS_NOT_STRINGS = "node(s) had labels that are not strings"


def read_pod(obj: object) -> Pod | Unreadable:
    """Read a v1.Pod as the scheduler sends it. It must be an object; everything in it may be absent or null."""
    if not isinstance(obj, dict):
        return Unreadable("Pod is not an object")
    metadata, spec = obj.get("metadata"), obj.get("spec")
    if not isinstance(metadata, dict | None):
        return Unreadable("Pod.metadata is not an object")
    if not isinstance(spec, dict | None):
        return Unreadable("Pod.spec is not an object")
    metadata, spec = metadata or {}, spec or {}
    priority = spec.get("priority")
    if isinstance(priority, bool) or not isinstance(priority, int | None):
        return Unreadable("Pod.spec.priority is not an integer")
    return Pod(
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")),
        uid=_text(metadata.get("uid")),
        priority=priority,
        scheduler_name=_text(spec.get("schedulerName")),
        controller_kind=_controller_kind(metadata.get("ownerReferences")),
    )


def read_node(obj: object) -> NodeInfo | Unreadable:
    """Read a v1.Node. Without a name it is nobody's node: Unreadable. Anything else wrong is its defect."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        return Unreadable("a node has no metadata.name")
    labels = metadata.get("labels")
    if labels is None:
        return NodeInfo(name, NO_LABELS)
    if not _is_labels(labels):
        return NodeInfo(name, NO_LABELS, LABELS_NOT_STRINGS)
    return NodeInfo(name, labels)


def read_nodes(objects: Iterable[object]) -> tuple[list[NodeInfo], int]:
    """The nodes that have a name, and how many objects had none."""
    readings = [read_node(obj) for obj in objects]
    nodes = [reading for reading in readings if isinstance(reading, NodeInfo)]
    return nodes, len(readings) - len(nodes)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_labels(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(
        isinstance(key, str) and isinstance(text, str) for key, text in value.items()
    )


def _controller_kind(references: object) -> str:
    """The kind of the owner that manages the pod (`controller: true`), as `metav1.GetControllerOf` finds it."""
    if not isinstance(references, list):
        return ""
    for reference in references:
        if isinstance(reference, dict) and reference.get("controller") is True:
            return _text(reference.get("kind"))
    return ""
