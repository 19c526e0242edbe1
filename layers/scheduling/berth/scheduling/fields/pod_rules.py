"""Rules of a pod about other pods: affinity, anti-affinity and topology spread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    """A selector of pods by labels and namespace, and a topology key: nodes whose label with this key has the same
    value are one domain. The API server has merged matchLabelKeys and mismatchLabelKeys into the selector."""

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector

    def matches(self, namespace: str, namespace_labels: Labels, labels: Labels) -> bool:
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
    """The terms of affinity and anti-affinity. `preferred` has the preferred terms of both, with negated weights for
    anti-affinity. If a selector cannot be parsed, its list is empty, and `invalid` has the cause."""

    required: tuple[PodAffinityTerm, ...] = ()
    anti_required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()
    invalid: InvalidRequirement | None = None

    @property
    def has_terms(self) -> bool:
        return bool(self.required or self.anti_required or self.preferred)


NO_POD_AFFINITY = PodAffinity()

# For each list: its name in kube-scheduler's message about a parse error, its field, its kind, the sign of its weights.
_LISTS = (
    ("requiredAffinityTerms", "podAffinity", "required", 1),
    ("requiredAntiAffinityTerms", "podAntiAffinity", "required", 1),
    ("preferredAffinityTerms", "podAffinity", "preferred", 1),
    ("preferredAntiAffinityTerms", "podAntiAffinity", "preferred", -1),
)


def read_pod_affinity(affinity: object, namespace: str) -> PodAffinity:
    """Read `spec.affinity` of a pod in this namespace. Raises MalformedField."""
    obj = read_object(affinity, "Pod.spec.affinity")
    if obj.get("podAffinity") is None and obj.get("podAntiAffinity") is None:
        return NO_POD_AFFINITY
    lists, causes = [], []
    for name, field, kind, sign in _LISTS:
        path = f"Pod.spec.affinity.{field}"
        found = _read_terms(read_object(obj.get(field), path), kind, sign, f"{path}.{kind}…", namespace)
        if isinstance(found, InvalidRequirement):
            causes.append(f"{name}: {found.cause}")
            found = ()
        lists.append(found)
    required, anti_required, preferred, anti_preferred = lists
    read = PodAffinity(
        tuple(each.term for each in required),
        tuple(each.term for each in anti_required),
        preferred + anti_preferred,
        InvalidRequirement(causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]") if causes else None,
    )
    return NO_POD_AFFINITY if read == NO_POD_AFFINITY else read


def _read_terms(
    obj: Object, kind: str, sign: int, path: str, namespace: str
) -> tuple[WeightedPodAffinityTerm, ...] | InvalidRequirement:
    """Read a list of terms. kind: `required` or `preferred`; required terms have the weight 0."""
    terms = []
    for item in read_object_list(obj.get(f"{kind}DuringSchedulingIgnoredDuringExecution"), path):
        weight, found = 0, item
        if kind == "preferred":
            weight = sign * (read_integer(item.get("weight"), f"{path}[].weight") or 0)
            found = read_object(item.get("podAffinityTerm"), f"{path}[].podAffinityTerm")
        term = _read_term(found, f"{path}[]", namespace)
        if isinstance(term, InvalidRequirement):
            return term
        terms.append(WeightedPodAffinityTerm(weight, term))
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


class UnsatisfiableConstraintAction(StrEnum):
    """The effect of a constraint on a node on which the pod would make the skew too large."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    """A limit for the skew of pods over the values of one node label. honor_affinity: count only nodes that match the
    pod's node affinity. honor_taints: count only nodes whose taints the pod tolerates."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    selector: LabelSelector | InvalidRequirement
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_label_keys: tuple[str, ...] = ()


def read_topology_spread(value: object) -> tuple[TopologySpreadConstraint, ...]:
    """Read the constraints of a pod's spec. Raises MalformedField."""
    path = "Pod.spec.topologySpreadConstraints"
    return tuple(_read_constraint(item, f"{path}[]") for item in read_object_list(value, path))


def _read_constraint(obj: Object, path: str) -> TopologySpreadConstraint:
    min_domains = read_integer(obj.get("minDomains"), f"{path}.minDomains")
    return TopologySpreadConstraint(
        read_integer(obj.get("maxSkew"), f"{path}.maxSkew") or 0,
        read_string(obj.get("topologyKey"), f"{path}.topologyKey"),
        read_string(obj.get("whenUnsatisfiable"), f"{path}.whenUnsatisfiable"),
        read_label_selector(obj.get("labelSelector"), f"{path}.labelSelector"),
        1 if min_domains is None else min_domains,
        read_string(obj.get("nodeAffinityPolicy"), f"{path}.nodeAffinityPolicy") in ("", "Honor"),
        read_string(obj.get("nodeTaintsPolicy"), f"{path}.nodeTaintsPolicy") == "Honor",
        read_strings(obj.get("matchLabelKeys"), f"{path}.matchLabelKeys"),
    )
