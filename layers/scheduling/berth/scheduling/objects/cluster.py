"""The objects of a cluster besides nodes, pods and workloads: priority classes, namespaces, disruption budgets."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.fields.reading import (
    MalformedField,
    UnreadableObject,
    name_or_empty,
    read_boolean,
    read_integer,
    read_object,
    read_string_map,
)
from berth.scheduling.fields.requirements import InvalidRequirement, Labels
from berth.scheduling.fields.selectors import LabelSelector, read_label_selector
from berth.scheduling.objects.pod import LabelSet, Pod


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
    """A policy/v1.PodDisruptionBudget. disrupted_pods: names of pods whose eviction the budget has counted already."""

    namespace: str
    name: str
    selector: LabelSelector | InvalidRequirement
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()

    def covers(self, pod: Pod) -> bool:
        """Return whether an eviction of the pod counts against the budget (fact 31)."""
        return self.selects(pod.label_set) and pod.name not in self.disrupted_pods

    def selects(self, label_set: LabelSet) -> bool:
        """Return whether the budget selects these labels. An empty selector never matches, nor do empty labels."""
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
