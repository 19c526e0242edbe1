"""The objects of a cluster, of all kinds, as a dump lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from berth.scheduling.fields.reading import (
    MalformedField,
    UnreadableObject,
    name_or_empty,
    read_boolean,
    read_integer,
    read_object,
    read_string_map,
)
from berth.scheduling.fields.selectors import InvalidRequirement, Labels, LabelSelector, read_label_selector
from berth.scheduling.objects.node import NodeInfo, read_node
from berth.scheduling.objects.pod import FAILED, SUCCEEDED, LabelSet, Pod
from berth.scheduling.objects.pod_group import PodGroup, read_pod_group_of_dump
from berth.scheduling.objects.pod_reading import read_placed_pod
from berth.scheduling.objects.workloads import KINDS, Workload, read_workload


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A scheduling/v1.PriorityClass."""

    name: str
    value: int
    global_default: bool = False
    preemption_policy: str = ""


def read_priority_class(obj: object) -> PriorityClass | UnreadableObject:
    """Read a scheduling/v1.PriorityClass."""
    try:
        whole = read_object(obj, "PriorityClass")
        metadata = read_object(whole.get("metadata"), "PriorityClass.metadata")
        return PriorityClass(
            name_or_empty(metadata.get("name")),
            read_integer(whole.get("value"), "PriorityClass.value") or 0,
            read_boolean(whole.get("globalDefault"), "PriorityClass.globalDefault"),
            name_or_empty(whole.get("preemptionPolicy")),
        )
    except MalformedField as error:
        return UnreadableObject(str(error))


@dataclass(frozen=True, slots=True)
class Namespace:
    """A v1.Namespace."""

    name: str
    labels: Labels


def read_namespace(obj: object) -> Namespace | UnreadableObject:
    """Read a v1.Namespace."""
    try:
        metadata = read_object(read_object(obj, "Namespace").get("metadata"), "Namespace.metadata")
        return Namespace(
            name_or_empty(metadata.get("name")), read_string_map(metadata.get("labels"), "Namespace.metadata.labels")
        )
    except MalformedField as error:
        return UnreadableObject(str(error))


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """A policy/v1.PodDisruptionBudget. disrupted_pods: names of pods whose eviction it has counted already."""

    namespace: str
    name: str
    selector: LabelSelector | InvalidRequirement
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()

    def covers(self, pod: Pod) -> bool:
        """Return whether an eviction of the pod counts (fact 31)."""
        return self.selects(pod.label_set) and pod.name not in self.disrupted_pods

    def selects(self, label_set: LabelSet) -> bool:
        """Return whether the budget selects these labels. An empty selector and no labels at all never match."""
        return (
            isinstance(self.selector, LabelSelector)
            and not self.selector.everything
            and label_set.namespace == self.namespace
            and bool(label_set.labels)
            and self.selector.matches(label_set.labels)
        )


def read_disruption_budget(obj: object) -> PodDisruptionBudget | UnreadableObject:
    """Read a policy/v1.PodDisruptionBudget."""
    kind = "PodDisruptionBudget"
    try:
        whole = read_object(obj, kind)
        metadata, spec, status = (
            read_object(whole.get(part), f"{kind}.{part}") for part in ("metadata", "spec", "status")
        )
        return PodDisruptionBudget(
            name_or_empty(metadata.get("namespace")),
            name_or_empty(metadata.get("name")),
            read_label_selector(spec.get("selector"), f"{kind}.spec.selector"),
            read_integer(status.get("disruptionsAllowed"), f"{kind}.status.disruptionsAllowed") or 0,
            frozenset(read_object(status.get("disruptedPods"), f"{kind}.status.disruptedPods")),
        )
    except MalformedField as error:
        return UnreadableObject(str(error))


POD_UNREADABLE = "node(s) had a pod that cannot be read"
"""The usage of such a node is unknown, so it does not accept pods."""


@dataclass(slots=True)
class ClusterObjects:
    """The objects of a cluster, without kinds that scheduling does not read.

    unreadable: unreadable objects that concern the cluster as a whole. An unreadable field of a node is that node's
    defect, and so is an unreadable pod on it; an unreadable pod that is on no node is left out.
    """

    nodes: list[NodeInfo] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    namespaces: list[Namespace] = field(default_factory=list)
    disruption_budgets: list[PodDisruptionBudget] = field(default_factory=list)
    priority_classes: list[PriorityClass] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    pod_groups: list[PodGroup] = field(default_factory=list)
    unreadable: list[UnreadableObject] = field(default_factory=list)


_READERS: Mapping[str, tuple[Callable[[object], object], str]] = {
    "Pod": (read_placed_pod, "pods"),
    "Node": (read_node, "nodes"),
    "Namespace": (read_namespace, "namespaces"),
    "PodDisruptionBudget": (read_disruption_budget, "disruption_budgets"),
    "PriorityClass": (read_priority_class, "priority_classes"),
    "PodGroup": (read_pod_group_of_dump, "pod_groups"),
    **{kind: (partial(read_workload, kind=kind), "workloads") for kind in KINDS},
}
"""By kind, the reader, and the list of ClusterObjects."""


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
    """The node of a pod that cannot be read; empty if the pod is not on a node, or has ended."""
    spec, status = (pod.get("spec"), pod.get("status")) if isinstance(pod, dict) else (None, None)
    name = spec.get("nodeName") if isinstance(spec, dict) else None
    phase = status.get("phase") if isinstance(status, dict) else None
    return name if isinstance(name, str) and phase not in (SUCCEEDED, FAILED) else ""


def _barred(node: NodeInfo) -> NodeInfo:
    return node if node.defect else replace(node, defect=POD_UNREADABLE)
