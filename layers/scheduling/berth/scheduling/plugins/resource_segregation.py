"""ResourceSegregation: nodes with scarce resources are reserved for pods that request these resources.

This is Berth's own plugin. The resources form one set. A pod that requests some of them fits only on nodes that have
all the resources that it requests. For other pods, nodes that have any of the resources are rejected (`required`) or
score lower (`preferred`).

The allocatable of a new node lacks the resources until its device plugin reports them: use a startup taint until then.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from berth.scheduling.fields.resources import is_scalar
from berth.scheduling.framework.plugin import (
    MAX_NODE_SCORE,
    SUCCESS,
    FilterPlugin,
    PluginState,
    ScorePlugin,
    Status,
    unresolvable,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

NAME = "ResourceSegregation"

# The reason for a pod that does not request any of the resources, on a node that has one of them.
REASON_RESERVED = "node(s) were reserved for pods that ask for their resources"
# The reason for a pod that requests one of the resources, on a node that lacks it. NodeResourcesFit checks the amount.
REASON_MISSING = "node(s) didn't have the resources that the pod asks for"

_RESERVED = unresolvable(NAME, REASON_RESERVED, reason_code=ReasonCode.NODE_RESERVED)
_MISSING = unresolvable(NAME, REASON_MISSING, reason_code=ReasonCode.SEGREGATED_RESOURCE_MISSING)


class SegregationMode(StrEnum):
    """Whether pods that do not request any of the resources may use nodes that have one, if no other node fits."""

    REQUIRED = "required"
    PREFERRED = "preferred"


def _resource(name: str) -> str:
    """Reject resources such as cpu and memory, which all pods request and all nodes have."""
    if not is_scalar(name):
        raise PydanticCustomError(
            "resource_name", "Input should be the name of an extended resource, such as 'nvidia.com/gpu'"
        )
    return name


class ResourceSegregationArgs(Args):
    """The plugin's arguments. resources: the names of the scarce resources, as in a node's allocatable."""

    resources: frozenset[Annotated[str, AfterValidator(_resource)]] = Field(
        default=frozenset({"nvidia.com/gpu"}), min_length=1
    )
    mode: SegregationMode = SegregationMode.REQUIRED


RequestedResources = frozenset[str]


class ResourceSegregation(FilterPlugin[RequestedResources], ScorePlugin[RequestedResources]):
    """Filters and scores by scarce resources. The state: the scarce resources that the pod requests, without zeros."""

    name = NAME
    reads = NODES_ONLY

    def __init__(self, args: ResourceSegregationArgs) -> None:
        self.resources = args.resources
        self.required = args.mode is SegregationMode.REQUIRED

    def shape(self, pod: Pod) -> Hashable:
        return self._requested(pod)

    def pre_filter(self, pod: Pod) -> PluginState[RequestedResources] | None:
        requested = self._requested(pod)
        return PluginState(requested) if requested or self.required else None

    def filter(self, state: RequestedResources, node: NodeInfo) -> Status:
        if not state:
            return _RESERVED if self._has_any(node) else SUCCESS
        return SUCCESS if all(name in node.allocatable for name in state) else _MISSING

    def pre_score(self, pod: Pod) -> PluginState[RequestedResources] | None:
        requested = self._requested(pod)
        return None if requested or self.required else PluginState(requested)

    def score(self, state: RequestedResources, node: NodeInfo) -> int:
        return 0 if self._has_any(node) else MAX_NODE_SCORE

    def _requested(self, pod: Pod) -> RequestedResources:
        # Do not use `&`: with the keys of a mapping it returns a set, which is not hashable.
        return self.resources.intersection(pod.spec.requests.asked)

    def _has_any(self, node: NodeInfo) -> bool:
        return not self.resources.isdisjoint(node.allocatable)
