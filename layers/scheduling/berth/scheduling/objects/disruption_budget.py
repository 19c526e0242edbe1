"""PodDisruptionBudgets: how many pods of an application may be evicted at once."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.fields.reading import MalformedField, UnreadableObject, name_or_empty, read_integer, read_object
from berth.scheduling.fields.selectors import InvalidRequirement, LabelSelector, read_label_selector
from berth.scheduling.objects.pod import LabelSet, Pod


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """A policy/v1.PodDisruptionBudget. disrupted_pods: names of pods whose eviction it has counted already."""

    namespace: str
    name: str
    selector: LabelSelector | InvalidRequirement
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()

    def covers(self, pod: Pod) -> bool:
        """Whether an eviction of the pod counts (fact 31)."""
        return self.selects(pod.label_set) and pod.name not in self.disrupted_pods

    def selects(self, label_set: LabelSet) -> bool:
        """Whether pods with these labels are its own: an empty selector and no labels at all never match."""
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
