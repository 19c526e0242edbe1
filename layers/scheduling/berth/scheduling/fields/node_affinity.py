"""Node affinity: which nodes a pod requires and prefers, by their labels and names."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.fields.reading import (
    Object,
    read_integer,
    read_object,
    read_object_list,
    read_string,
    read_strings,
)
from berth.scheduling.fields.selectors import Invalid, Labels, Operator, Requirement, requirement

NODE_NAME = "metadata.name"


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A condition on the node's name; any other field reads as empty, as in kube-scheduler."""

    field: str
    value: str
    negated: bool

    def matches(self, node_name: str) -> bool:
        """In or NotIn, of one value."""
        return ((node_name if self.field == NODE_NAME else "") == self.value) is not self.negated


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements, ANDed. An `invalid` one matches nothing.

    node_names: the names that a requirement `metadata.name In` leaves, None without such a requirement.
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    invalid: bool = False
    node_names: frozenset[str] | None = None

    def matches(self, labels: Labels, node_name: str) -> bool:
        """Whether all requirements do."""
        return (
            not self.invalid
            and all(expression.matches(labels) for expression in self.expressions)
            and all(field.matches(node_name) for field in self.fields)
        )


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Terms, ORed; empty ones are left out, and without any term it matches nothing.

    node_names: to which nodes the terms restrict the pod by name, None where one of them does not.
    """

    terms: tuple[NodeSelectorTerm, ...]
    node_names: frozenset[str] | None = None

    def matches(self, labels: Labels, node_name: str) -> bool:
        """Whether one term does."""
        return any(term.matches(labels, node_name) for term in self.terms)


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A term and how much it counts."""

    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """`required` is None where there is none; `preferred` is Invalid where a term of it cannot be parsed."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredTerm, ...] | Invalid = ()


NO_NODE_AFFINITY = NodeAffinity()


def read_node_affinity(value: object, path: str) -> NodeAffinity:
    """A v1.NodeAffinity. Raises Malformed."""
    obj = read_object(value, path)
    required = obj.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = obj.get("preferredDuringSchedulingIgnoredDuringExecution")
    if required is None and preferred is None:
        return NO_NODE_AFFINITY
    return NodeAffinity(
        None if required is None else _read_node_selector(required, f"{path}.required…"),
        _read_preferred(preferred, f"{path}.preferred…"),
    )


def _read_node_selector(value: object, path: str) -> NodeSelector:
    terms = [
        read_node_selector_term(item, f"{path}.nodeSelectorTerms[]")
        for item in read_object_list(read_object(value, path).get("nodeSelectorTerms"), f"{path}.nodeSelectorTerms")
    ]
    names: frozenset[str] | None = frozenset() if terms else None
    for term in terms:
        # A term that names no node leaves all of them open, and terms are alternatives; an empty term does, too.
        names = None if names is None or term is None or term.node_names is None else names | term.node_names
    return NodeSelector(tuple(term for term in terms if term is not None), names)


def _read_preferred(value: object, path: str) -> tuple[PreferredTerm, ...] | Invalid:
    found = []
    for item in read_object_list(value, path):
        weight = read_integer(item.get("weight"), f"{path}[].weight") or 0
        term = read_node_selector_term(
            read_object(item.get("preference"), f"{path}[].preference"), f"{path}[].preference"
        )
        if not weight or term is None:
            continue
        if term.invalid:
            return Invalid("a preferred term of the node affinity cannot be parsed")
        found.append(PreferredTerm(weight, term))
    return tuple(found)


def read_node_selector_term(obj: Object, path: str) -> NodeSelectorTerm | None:
    """A v1.NodeSelectorTerm, None for an empty one. Raises Malformed."""
    read = [
        _read_requirement(item, path)
        for item in read_object_list(obj.get("matchExpressions"), f"{path}.matchExpressions")
    ]
    named = [_read_requirement(item, path) for item in read_object_list(obj.get("matchFields"), f"{path}.matchFields")]
    if not read and not named:
        return None
    expressions = [requirement(*each) for each in read]
    fields = [_field_requirement(*each) for each in named]
    valid = tuple(each for each in expressions if not isinstance(each, Invalid))
    valid_fields = tuple(each for each in fields if not isinstance(each, Invalid))
    return NodeSelectorTerm(
        valid, valid_fields, len(valid) < len(expressions) or len(valid_fields) < len(fields), _node_names(named)
    )


def _read_requirement(obj: Object, path: str) -> tuple[str, str, tuple[str, ...]]:
    return (
        read_string(obj.get("key"), f"{path}[].key"),
        read_string(obj.get("operator"), f"{path}[].operator"),
        read_strings(obj.get("values"), f"{path}[].values"),
    )


def _field_requirement(key: str, operator: str, values: tuple[str, ...]) -> FieldRequirement | Invalid:
    if operator not in (Operator.IN, Operator.NOT_IN):
        return Invalid("fields take In and NotIn alone")
    if len(values) != 1:
        return Invalid("fields take one value")
    return FieldRequirement(key, values[0], operator == Operator.NOT_IN)


def _node_names(fields: list[tuple[str, str, tuple[str, ...]]]) -> frozenset[str] | None:
    names: frozenset[str] | None = None
    for key, operator, values in fields:
        if key == NODE_NAME and operator == Operator.IN:
            names = frozenset(values) if names is None else names & frozenset(values)
    return names
