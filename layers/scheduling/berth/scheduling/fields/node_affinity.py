"""Node affinity: the nodes that a pod requires or prefers, by labels and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from berth.scheduling.fields.reading import (
    Object,
    read_integer,
    read_object,
    read_object_list,
    read_string,
    read_strings,
)
from berth.scheduling.fields.requirement_index import RequirementIndex, WeightSum
from berth.scheduling.fields.requirements import FEW, InvalidRequirement, Labels, Operator, Requirement, requirement

NODE_NAME = "metadata.name"


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A condition on the node's name. As in kube-scheduler, any other field counts as an empty text."""

    field: str
    value: str
    negated: bool

    def matches(self, node_name: str) -> bool:
        return ((node_name if self.field == NODE_NAME else "") == self.value) is not self.negated


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """ANDed requirements. An `invalid` term does not match any node. node_names: the names that the requirements
    `metadata.name In` allow; None if the term does not have such a requirement."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    invalid: bool = False
    node_names: frozenset[str] | None = None

    def matches(self, labels: Labels, node_name: str) -> bool:
        return (
            not self.invalid
            and all(expression.matches(labels) for expression in self.expressions)
            and all(field.matches(node_name) for field in self.fields)
        )


_NAME = "name of the node"
"""The key of a node's name among its labels. Label keys cannot contain spaces."""


def _with_name(term: NodeSelectorTerm) -> list[Requirement] | None:
    """Return the term's requirements, with the node's name as a label; None for a term that never matches."""
    if term.invalid:
        return None
    found = list(term.expressions)
    for each in term.fields:
        if each.field == NODE_NAME:
            found.append(Requirement(_NAME, Operator.NOT_IN if each.negated else Operator.IN, frozenset((each.value,))))
        elif not each.matches(""):
            return None
    return found


def _index(terms: Iterable[NodeSelectorTerm]) -> RequirementIndex:
    """Index terms, so that many are matched at once. A node's name is then matched as one of its labels."""
    return RequirementIndex(map(_with_name, terms))


def _is_long(terms: Sequence[NodeSelectorTerm]) -> bool:
    return len(terms) > FEW or sum(len(term.expressions) for term in terms) > FEW


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """ORed terms, without empty terms. A selector without terms does not match any node. node_names: the only nodes
    that the terms allow by name; None if a term allows any name."""

    terms: tuple[NodeSelectorTerm, ...]
    node_names: frozenset[str] | None = None
    _index: RequirementIndex | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if _is_long(self.terms):
            object.__setattr__(self, "_index", _index(dict.fromkeys(self.terms)))

    def matches(self, labels: Labels, node_name: str) -> bool:
        if self._index is not None:
            return bool(self._index.matching({**labels, _NAME: node_name}))
        return any(term.matches(labels, node_name) for term in self.terms)


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """A pod's node affinity. required: None if absent. preferred: InvalidRequirement if a term cannot be parsed."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredTerm, ...] | InvalidRequirement = ()


NO_NODE_AFFINITY = NodeAffinity()


def weights_of(preferred: tuple[PreferredTerm, ...]) -> Callable[[Labels, str], int]:
    """Return a function that sums the weights of the terms that match a node's labels and name."""
    terms = [each.term for each in preferred]
    if not _is_long(terms):
        return lambda labels, name: sum(each.weight for each in preferred if each.term.matches(labels, name))
    index, weights = _index(terms), WeightSum([each.weight for each in preferred])
    return lambda labels, name: weights.of(index.matching({**labels, _NAME: name}))


def read_node_affinity(value: object, path: str) -> NodeAffinity:
    """Read a v1.NodeAffinity. Raises MalformedField."""
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
    # Terms are ORed: names restrict the pod only if every term has names. An empty term does not have any.
    named = [term.node_names for term in terms if term is not None and term.node_names is not None]
    names = frozenset().union(*named) if terms and len(named) == len(terms) else None
    return NodeSelector(tuple(term for term in terms if term is not None), names)


def _read_preferred(value: object, path: str) -> tuple[PreferredTerm, ...] | InvalidRequirement:
    found = []
    for item in read_object_list(value, path):
        weight = read_integer(item.get("weight"), f"{path}[].weight") or 0
        term = read_node_selector_term(
            read_object(item.get("preference"), f"{path}[].preference"), f"{path}[].preference"
        )
        if not weight or term is None:
            continue
        if term.invalid:
            return InvalidRequirement("a preferred term of the node affinity cannot be parsed")
        found.append(PreferredTerm(weight, term))
    return tuple(found)


def read_node_selector_term(obj: Object, path: str) -> NodeSelectorTerm | None:
    """Read a v1.NodeSelectorTerm; None if it is empty. Raises MalformedField."""
    read = [
        _read_requirement(item, path)
        for item in read_object_list(obj.get("matchExpressions"), f"{path}.matchExpressions")
    ]
    named = [_read_requirement(item, path) for item in read_object_list(obj.get("matchFields"), f"{path}.matchFields")]
    if not read and not named:
        return None
    expressions = [requirement(*each) for each in read]
    fields = [_field_requirement(*each) for each in named]
    valid = tuple(each for each in expressions if not isinstance(each, InvalidRequirement))
    valid_fields = tuple(each for each in fields if each is not None)
    return NodeSelectorTerm(
        valid, valid_fields, len(valid) < len(expressions) or len(valid_fields) < len(fields), _node_names(named)
    )


def _read_requirement(obj: Object, path: str) -> tuple[str, str, tuple[str, ...]]:
    return (
        read_string(obj.get("key"), f"{path}[].key"),
        read_string(obj.get("operator"), f"{path}[].operator"),
        read_strings(obj.get("values"), f"{path}[].values"),
    )


def _field_requirement(key: str, operator: str, values: tuple[str, ...]) -> FieldRequirement | None:
    """Return the requirement; None if the operator is not In or NotIn, or if there is not exactly one value."""
    if operator not in (Operator.IN, Operator.NOT_IN) or len(values) != 1:
        return None
    return FieldRequirement(key, values[0], operator == Operator.NOT_IN)


def _node_names(fields: list[tuple[str, str, tuple[str, ...]]]) -> frozenset[str] | None:
    names: frozenset[str] | None = None
    for key, operator, values in fields:
        if key == NODE_NAME and operator == Operator.IN:
            names = frozenset(values) if names is None else names & frozenset(values)
    return names
