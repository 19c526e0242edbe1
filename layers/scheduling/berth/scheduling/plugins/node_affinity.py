"""NodeAffinity and NodeName: the nodes that the pod or the configuration selects by labels or by name. A profile may
have only one of these plugins, so each has its own `reasons`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field, PrivateAttr, model_validator

from berth.scheduling.fields import node_affinity as affinity
from berth.scheduling.fields.node_affinity import NO_NODE_AFFINITY, NodeSelector, weights_of
from berth.scheduling.fields.reading import MalformedField
from berth.scheduling.fields.requirements import InvalidRequirement, Labels
from berth.scheduling.framework.plugin import (
    SUCCESS,
    FilterPlugin,
    PluginState,
    ScorePlugin,
    Status,
    error_status,
    unresolvable,
)
from berth.scheduling.framework.score_scaling import default_normalize_score
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

NAME = "NodeAffinity"

# The reason if nodeSelector or the required terms do not match.
REASON_POD = "node(s) didn't match Pod's node affinity/selector"
# The reason if addedAffinity does not match, which is checked first.
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
# The reason on every node if each term requires different names at once, so that no name satisfies it.
REASON_CONFLICT = "pod affinity terms conflict"
# The reason on every node if a preferred term cannot be parsed: kube-scheduler fails the whole cycle.
REASON_INVALID = "pod has a preferred node affinity term that cannot be parsed"

_NO_MATCH = unresolvable(NAME, REASON_POD, reason_code=ReasonCode.NODE_AFFINITY_MISMATCH)
_NOT_ENFORCED = unresolvable(NAME, REASON_ENFORCED, reason_code=ReasonCode.ADDED_NODE_AFFINITY_MISMATCH)
_CONFLICT = unresolvable(NAME, REASON_CONFLICT, reason_code=ReasonCode.NODE_AFFINITY_CONFLICT)
_INVALID = error_status(NAME, REASON_INVALID, reason_code=ReasonCode.NODE_AFFINITY_INVALID)


_REQUIREMENT = {"key": None, "operator": None, "values": None}
_TERM = {"matchExpressions": _REQUIREMENT, "matchFields": _REQUIREMENT}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_FIELDS = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": _TERM},
    PREFERRED: {"weight": None, "preference": _TERM},
}
"""The fields of a v1.NodeAffinity. kube-scheduler rejects arguments with other fields."""


def _unknown_fields(value: object, fields: Mapping[str, Any], path: str) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        for name, inner in item.items() if isinstance(item, dict) else ():
            if name not in fields:
                yield f"{path} has no field {name}; it has {', '.join(fields)}"
            elif fields[name] is not None:
                yield from _unknown_fields(inner, fields[name], f"{path}.{name}")


class NodeAffinityArgs(Args):
    """The plugin's arguments. addedAffinity: a v1.NodeAffinity that applies to every pod in addition to its own."""

    added_affinity: dict[str, object] | None = Field(default=None, alias="addedAffinity")
    _added: affinity.NodeAffinity = PrivateAttr(default=affinity.NO_NODE_AFFINITY)

    @model_validator(mode="after")
    def _parses(self) -> Self:
        try:
            self._added = affinity.read_node_affinity(self.added_affinity, "addedAffinity")
        except MalformedField as error:
            raise ValueError(str(error)) from error
        for unknown in _unknown_fields(self.added_affinity, _FIELDS, "addedAffinity"):
            raise ValueError(unknown)
        preferred = (self.added_affinity or {}).get(PREFERRED)
        for term in preferred if isinstance(preferred, list) else ():
            if not term.get("weight") or not term.get("preference"):
                raise ValueError(f"addedAffinity.{PREFERRED}: a term needs weight and preference")
        required = self._added.required
        if isinstance(self._added.preferred, InvalidRequirement) or (
            required and any(term.invalid for term in required.terms)
        ):
            raise ValueError("addedAffinity has a term that cannot be parsed")
        return self

    @property
    def added(self) -> affinity.NodeAffinity:
        return self._added


@dataclass(frozen=True, slots=True)
class RequiredAffinity:
    node_selector: Labels | None
    terms: NodeSelector | None

    def matches(self, node: NodeInfo) -> bool:
        """Return whether the node matches the selector and the terms. A term that cannot be parsed never matches."""
        if self.node_selector and not self.node_selector.items() <= node.labels.items():
            return False
        return self.terms is None or self.terms.matches(node.labels, node.name)


Preferred = Callable[[Labels, str], int]


class NodeAffinity(FilterPlugin[RequiredAffinity], ScorePlugin[Preferred]):
    """Filters and scores as in kube-scheduler."""

    name = NAME
    reasons = frozenset({REASON_POD, REASON_ENFORCED, REASON_CONFLICT, REASON_INVALID})
    reads = NODES_ONLY
    normalized = True

    def __init__(self, args: NodeAffinityArgs) -> None:
        self.added_required = args.added.required
        """The terms that the configuration requires for every pod."""
        self._added_preferred = args.added.preferred if isinstance(args.added.preferred, tuple) else ()

    def shape(self, pod: Pod) -> Hashable:
        # Most pods do not have node affinity: they share the shape None.
        return None if required_of(pod) is None and pod.spec.node_affinity is NO_NODE_AFFINITY else pod.spec

    def pre_filter(self, pod: Pod) -> PluginState[RequiredAffinity] | Status | None:
        required = required_of(pod)
        if required is None:
            return None if self.added_required is None else PluginState(RequiredAffinity(None, None))
        names = None if required.terms is None else required.terms.node_names
        if names is not None and not names:
            return _CONFLICT
        return PluginState(required, names)

    def filter(self, state: RequiredAffinity, node: NodeInfo) -> Status:
        if self.added_required is not None and not self.added_required.matches(node.labels, node.name):
            return _NOT_ENFORCED
        return SUCCESS if state.matches(node) else _NO_MATCH

    def pre_score(self, pod: Pod) -> PluginState[Preferred] | Status | None:
        preferred = pod.spec.node_affinity.preferred
        if isinstance(preferred, InvalidRequirement):
            return _INVALID
        terms = self._added_preferred + preferred
        return PluginState(weights_of(terms)) if terms else None

    def score(self, state: Preferred, node: NodeInfo) -> int:
        return state(node.labels, node.name)

    def normalize(self, scores: list[int]) -> list[int]:
        return default_normalize_score(scores)


def required_of(pod: Pod) -> RequiredAffinity | None:
    """Return the pod's own node selector and required terms; None if it has neither."""
    selector, terms = pod.spec.node_selector, pod.spec.node_affinity.required
    return None if selector is None and terms is None else RequiredAffinity(selector, terms)


# The reason if `spec.nodeName` names another node.
REASON_NAME = "node(s) didn't match the requested node name"

_OTHER_NODE = unresolvable("NodeName", REASON_NAME, reason_code=ReasonCode.NODE_NAME_MISMATCH)


class NodeName(FilterPlugin[str]):
    """Filters as in kube-scheduler: a pod with `spec.nodeName` fits only on that node. The state is the node's name."""

    name = "NodeName"
    reasons = frozenset({REASON_NAME})
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return pod.node_name

    def pre_filter(self, pod: Pod) -> PluginState[str] | None:
        return PluginState(pod.node_name) if pod.node_name else None

    def filter(self, state: str, node: NodeInfo) -> Status:
        return SUCCESS if node.name == state else _OTHER_NODE
