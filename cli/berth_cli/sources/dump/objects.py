"""Parses the objects of a dump, which may be of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from berth.scheduling.objects import (
    Namespace,
    NodeInfo,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    UnreadableObject,
    Workload,
    read_disruption_budget,
    read_namespace,
    read_node,
    read_priority_class,
    read_workload,
)
from berth.scheduling.objects.cluster import KINDS
from berth.scheduling.objects.pod import FAILED, SUCCEEDED
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi, read_pod_group
from berth.scheduling.objects.pod_reading import read_placed_pod

POD_UNREADABLE = "node(s) had a pod that cannot be read"
"""The rejection reason: the usage of such a node is unknown, so it does not accept pods."""


@dataclass(slots=True)
class ClusterObjects:
    """The cluster's objects, of the kinds that scheduling reads. unreadable: the unreadable objects that do not belong
    to a node. An unreadable field of a node, or an unreadable pod on it, makes the node defective; an unreadable pod
    without a node is left out.
    """

    nodes: list[NodeInfo] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    namespaces: list[Namespace] = field(default_factory=list)
    disruption_budgets: list[PodDisruptionBudget] = field(default_factory=list)
    priority_classes: list[PriorityClass] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    pod_groups: list[PodGroup] = field(default_factory=list)
    unreadable: list[UnreadableObject] = field(default_factory=list)


def _read_pod_group(obj: object) -> PodGroup | UnreadableObject | None:
    """Read a PodGroup by its apiVersion; None for an object of another API."""
    version = obj.get("apiVersion") if isinstance(obj, dict) else None
    group = version.partition("/")[0] if isinstance(version, str) else ""
    return read_pod_group(obj, PodGroupApi(group)) if group in set(PodGroupApi) else None


_READERS: Mapping[str, tuple[Callable[[object], object], str]] = {
    "Pod": (read_placed_pod, "pods"),
    "Node": (read_node, "nodes"),
    "Namespace": (read_namespace, "namespaces"),
    "PodDisruptionBudget": (read_disruption_budget, "disruption_budgets"),
    "PriorityClass": (read_priority_class, "priority_classes"),
    "PodGroup": (_read_pod_group, "pod_groups"),
    **{kind: (partial(read_workload, kind=kind), "workloads") for kind in KINDS},
}
"""Maps each kind to its reader and to the field of ClusterObjects that lists the objects."""


def read_objects(objs: Iterable[object]) -> ClusterObjects:
    """Read each object by its `kind`."""
    found = ClusterObjects()
    barred: set[str] = set()
    for obj in objs:
        kind = obj.get("kind") if isinstance(obj, dict) else None
        if not isinstance(kind, str) or kind not in _READERS:
            continue
        read, field_name = _READERS[kind]
        reading = read(obj)
        if not isinstance(reading, UnreadableObject):
            if reading is not None:
                getattr(found, field_name).append(reading)
        elif kind == "Pod":
            barred.add(_place(obj))
        else:
            found.unreadable.append(reading)
    if barred:
        found.nodes = [_barred(node) if node.name in barred else node for node in found.nodes]
    return found


def _place(pod: object) -> str:
    """Return the node of an unreadable pod; empty if the pod does not have a node, or has ended."""
    spec, status = (pod.get("spec"), pod.get("status")) if isinstance(pod, dict) else (None, None)
    name = spec.get("nodeName") if isinstance(spec, dict) else None
    phase = status.get("phase") if isinstance(status, dict) else None
    return name if isinstance(name, str) and phase not in (SUCCEEDED, FAILED) else ""


def _barred(node: NodeInfo) -> NodeInfo:
    return node if node.defect else replace(node, defect=POD_UNREADABLE)
