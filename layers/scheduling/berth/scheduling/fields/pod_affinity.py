"""Pod affinity and anti-affinity: the pods that a pod is placed near, and the pods that it is kept away from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from berth.scheduling.fields.reading import (
    Object,
    read_integer,
    read_object,
    read_object_list,
    read_string,
    read_strings,
)
from berth.scheduling.fields.requirements import InvalidRequirement, Labels
from berth.scheduling.fields.selectors import LabelSelector, read_label_selector


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """A selector of pods by labels and namespace, and a topology key: nodes with an equal value of it are near.

    matchLabelKeys and mismatchLabelKeys are left out: the API server merged them into the selector when the pod was
    created.
    """

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector

    def matches(self, namespace: str, namespace_labels: Labels, labels: Labels) -> bool:
        """Return whether the term selects a pod with these labels in this namespace."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class WeightedPodAffinityTerm:
    """A term and its weight, which is negative for anti-affinity."""

    weight: int
    term: PodAffinityTerm


@dataclass(frozen=True, slots=True)
class PodAffinity:
    """The four lists of terms. If a selector cannot be parsed, its list is empty, and `invalid` has the cause.

    preferred: also the terms of the anti-affinity, with negated weights.
    """

    required: tuple[PodAffinityTerm, ...] = ()
    anti_required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()
    invalid: InvalidRequirement | None = None

    @property
    def has_terms(self) -> bool:
        return bool(self.required or self.anti_required or self.preferred)


NO_POD_AFFINITY = PodAffinity()

_LISTS = ("requiredAffinityTerms", "requiredAntiAffinityTerms", "preferredAffinityTerms", "preferredAntiAffinityTerms")
"""kube-scheduler's names of the four lists, in its message about a list that cannot be parsed."""

T = TypeVar("T")


def read_pod_affinity(affinity: object, namespace: str) -> PodAffinity:
    """Read `spec.affinity` of a pod in that namespace. Raises MalformedField."""
    obj = read_object(affinity, "Pod.spec.affinity")
    if obj.get("podAffinity") is None and obj.get("podAntiAffinity") is None:
        return NO_POD_AFFINITY
    near = read_object(obj.get("podAffinity"), "Pod.spec.affinity.podAffinity")
    away = read_object(obj.get("podAntiAffinity"), "Pod.spec.affinity.podAntiAffinity")
    required = _read_required(near, "Pod.spec.affinity.podAffinity", namespace)
    anti_required = _read_required(away, "Pod.spec.affinity.podAntiAffinity", namespace)
    preferred = _read_preferred(near, "Pod.spec.affinity.podAffinity", namespace, 1)
    anti_preferred = _read_preferred(away, "Pod.spec.affinity.podAntiAffinity", namespace, -1)
    lists = (required, anti_required, preferred, anti_preferred)
    causes = [
        f"{name}: {found.cause}"
        for name, found in zip(_LISTS, lists, strict=True)
        if isinstance(found, InvalidRequirement)
    ]
    read = PodAffinity(
        _parsed(required),
        _parsed(anti_required),
        _parsed(preferred) + _parsed(anti_preferred),
        InvalidRequirement(causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]") if causes else None,
    )
    return NO_POD_AFFINITY if read == NO_POD_AFFINITY else read


def _parsed(terms: tuple[T, ...] | InvalidRequirement) -> tuple[T, ...]:
    return () if isinstance(terms, InvalidRequirement) else terms


def _read_required(obj: Object, path: str, namespace: str) -> tuple[PodAffinityTerm, ...] | InvalidRequirement:
    terms = []
    for item in read_object_list(obj.get("requiredDuringSchedulingIgnoredDuringExecution"), f"{path}.required…"):
        term = _read_term(item, f"{path}.required…[]", namespace)
        if isinstance(term, InvalidRequirement):
            return term
        terms.append(term)
    return tuple(terms)


def _read_preferred(
    obj: Object, path: str, namespace: str, sign: int
) -> tuple[WeightedPodAffinityTerm, ...] | InvalidRequirement:
    path = f"{path}.preferred…"
    terms = []
    for item in read_object_list(obj.get("preferredDuringSchedulingIgnoredDuringExecution"), path):
        weight = read_integer(item.get("weight"), f"{path}[].weight") or 0
        term = _read_term(read_object(item.get("podAffinityTerm"), f"{path}[].podAffinityTerm"), f"{path}[]", namespace)
        if isinstance(term, InvalidRequirement):
            return term
        terms.append(WeightedPodAffinityTerm(weight * sign, term))
    return tuple(terms)


def _read_term(obj: Object, path: str, namespace: str) -> PodAffinityTerm | InvalidRequirement:
    selector = read_label_selector(obj.get("labelSelector"), f"{path}.labelSelector")
    namespace_selector = read_label_selector(obj.get("namespaceSelector"), f"{path}.namespaceSelector")
    if isinstance(selector, InvalidRequirement):
        return selector
    if isinstance(namespace_selector, InvalidRequirement):
        return namespace_selector
    namespaces = frozenset(read_strings(obj.get("namespaces"), f"{path}.namespaces"))
    if not namespaces and obj.get("namespaceSelector") is None:
        namespaces = frozenset((namespace,))
    return PodAffinityTerm(
        read_string(obj.get("topologyKey"), f"{path}.topologyKey"), selector, namespaces, namespace_selector
    )
