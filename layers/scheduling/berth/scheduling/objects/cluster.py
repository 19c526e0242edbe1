"""The objects of a cluster besides nodes and pods: priority classes, namespaces, disruption budgets, and workloads.

Workloads are Services and controllers. If a pod lacks spread constraints, the selectors of its workloads determine with
which pods it is spread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from berth.scheduling.fields.reading import (
    MalformedField,
    UnreadableObject,
    name_or_empty,
    read_boolean,
    read_integer,
    read_object,
    read_string_map,
)
from berth.scheduling.fields.requirements import InvalidRequirement, Labels, equals
from berth.scheduling.fields.selectors import EVERYTHING, LabelSelector, read_label_selector
from berth.scheduling.objects.pod import LabelSet, Pod


@dataclass(frozen=True, slots=True)
class PriorityClass:
    name: str
    value: int
    global_default: bool = False
    preemption_policy: str = ""


def read_priority_class(obj: object) -> PriorityClass | UnreadableObject:
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
    name: str
    labels: Labels


def read_namespace(obj: object) -> Namespace | UnreadableObject:
    try:
        metadata = read_object(read_object(obj, "Namespace").get("metadata"), "Namespace.metadata")
        return Namespace(
            name_or_empty(metadata.get("name")), read_string_map(metadata.get("labels"), "Namespace.metadata.labels")
        )
    except MalformedField as error:
        return UnreadableObject(str(error))


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """A policy/v1.PodDisruptionBudget. disrupted_pods: the names of pods whose eviction the budget counts already."""

    namespace: str
    name: str
    selector: LabelSelector | InvalidRequirement
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()

    def covers(self, pod: Pod) -> bool:
        return self.selects(pod.label_set) and pod.name not in self.disrupted_pods

    def selects(self, label_set: LabelSet) -> bool:
        """Return whether the budget selects these labels. An empty selector never matches; neither do empty labels."""
        return (
            isinstance(self.selector, LabelSelector)
            and not self.selector.everything
            and label_set.namespace == self.namespace
            and bool(label_set.labels)
            and self.selector.matches(label_set.labels)
        )


def read_disruption_budget(obj: object) -> PodDisruptionBudget | UnreadableObject:
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


_API_VERSIONS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}
SERVICE = "Service"
KINDS = (SERVICE, *_API_VERSIONS)

WorkloadKey = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A Service or a controller. labels: the selector of a Service or ReplicationController (a map), or None."""

    kind: str
    namespace: str
    name: str
    labels: Labels | None = None
    selector: LabelSelector | InvalidRequirement = EVERYTHING


@dataclass(frozen=True, slots=True)
class Workloads:
    """The workloads of a cluster. Immutable; `changed` returns a new object."""

    services: dict[str, tuple[Workload, ...]] = field(default_factory=dict)
    controllers: dict[WorkloadKey, Workload] = field(default_factory=dict)

    @classmethod
    def of(cls, workloads: Iterable[Workload]) -> Workloads:
        return cls().changed(workloads, ())

    def changed(self, come: Iterable[Workload], gone: Iterable[WorkloadKey]) -> Workloads:
        controllers = dict(self.controllers)
        services: dict[str, dict[str, Workload]] = {}

        def of_namespace(namespace: str) -> dict[str, Workload]:
            if namespace not in services:
                services[namespace] = {each.name: each for each in self.services.get(namespace, ())}
            return services[namespace]

        for kind, namespace, name in gone:
            controllers.pop((kind, namespace, name), None)
            if kind == SERVICE:
                of_namespace(namespace).pop(name, None)
        for workload in come:
            if workload.kind == SERVICE:
                of_namespace(workload.namespace)[workload.name] = workload
            else:
                controllers[workload.kind, workload.namespace, workload.name] = workload
        changed = {namespace: tuple(found[name] for name in sorted(found)) for namespace, found in services.items()}
        kept = {namespace: found for namespace, found in (self.services | changed).items() if found}
        return Workloads(kept, controllers)

    def selector_of(self, pod: Pod) -> LabelSelector:
        """Return a selector with the requirements of the pod's controller, and of all services that select the pod."""
        labels: dict[str, str] = {}
        for service in self.services.get(pod.namespace, ()):
            # A service without a selector does not select pods. An empty selector does not add requirements.
            if service.labels is not None and service.labels.items() <= pod.labels.items():
                labels |= service.labels
        requirements = tuple(equals(key, value) for key, value in labels.items())
        owner = pod.spec.controller
        if owner is None or _API_VERSIONS.get(owner.kind) != owner.api_version:
            return LabelSelector(requirements)
        controller = self.controllers.get((owner.kind, pod.namespace, owner.name))
        if controller is None:
            return LabelSelector(requirements)
        if controller.labels is not None:
            return LabelSelector(tuple(equals(key, value) for key, value in (labels | dict(controller.labels)).items()))
        if isinstance(controller.selector, InvalidRequirement) or controller.selector.nothing:
            return LabelSelector(requirements)
        return LabelSelector(requirements + controller.selector.requirements)


NO_WORKLOADS = Workloads()


def read_workload(obj: object, kind: str) -> Workload | UnreadableObject:
    try:
        whole = read_object(obj, kind)
        metadata = read_object(whole.get("metadata"), f"{kind}.metadata")
        namespace, name = name_or_empty(metadata.get("namespace")), name_or_empty(metadata.get("name"))
        selector = read_object(whole.get("spec"), f"{kind}.spec").get("selector")
        path = f"{kind}.spec.selector"
        if kind in (SERVICE, "ReplicationController"):
            return Workload(kind, namespace, name, None if selector is None else read_string_map(selector, path))
        return Workload(kind, namespace, name, selector=read_label_selector(selector, path))
    except MalformedField as error:
        return UnreadableObject(str(error))
