"""NodeResourcesFit: a node must have enough resources left for the pod. The score depends on the amounts left."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from berth.scheduling.fields.resources import NATIVE, is_extended
from berth.scheduling.framework.plugin import (
    NODE_EVENTS,
    SUCCESS,
    ClusterEvent,
    Code,
    FilterPlugin,
    PluginState,
    ScorePlugin,
    Status,
    shape_of_amounts,
)
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.resource_allocation import (
    CPU_AND_MEMORY,
    ResourceSpec,
    ScoredResource,
    Scorer,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
    scored_resources,
    shares,
)
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_AND_PODS

NAME = "NodeResourcesFit"

# The reason if the node has its maximum number of pods. A status with only this reason is never unresolvable.
REASON_TOO_MANY_PODS = "Too many pods"
# The reason for each resource that is short. The status is unresolvable if the node's total is too small.
REASON_INSUFFICIENT = "Insufficient {}"
# Replaces resource names beyond MAX_NAMES: a response about thousands of nodes repeats them for each node.
REASON_INSUFFICIENT_OTHERS = "Insufficient other resources"

MAX_NAMES = 1000
"""The maximum number of characters of resource names in the reasons of one status."""


class ScoringStrategyType(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class UtilizationShapePoint(Args):
    utilization: int = Field(ge=0, le=100)
    score: int = Field(ge=0, le=10)


class RequestedToCapacityRatioParam(Args):
    shape: tuple[UtilizationShapePoint, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        found = [point.utilization for point in self.shape]
        if found != sorted(set(found)):
            raise ValueError("shape: utilization must be in increasing order")
        return self


class ScoringStrategy(Args):
    type: ScoringStrategyType = ScoringStrategyType.LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = Field(
        default=None, alias="requestedToCapacityRatio"
    )

    @model_validator(mode="after")
    def _shape_goes_with_type(self) -> Self:
        wants = self.type is ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO
        if wants is not (self.requested_to_capacity_ratio is not None):
            raise ValueError("requestedToCapacityRatio goes with type RequestedToCapacityRatio, and with no other")
        return self

    def scorer(self) -> Scorer:
        match self.type:
            case ScoringStrategyType.LEAST_ALLOCATED:
                return least_allocated
            case ScoringStrategyType.MOST_ALLOCATED:
                return most_allocated
            case ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
                param = self.requested_to_capacity_ratio
                # The scores of the shape are at most 10; the scores of nodes are at most 100.
                return requested_to_capacity_ratio(
                    [(point.utilization, point.score * 10) for point in (param.shape if param else ())]
                )


class NodeResourcesFitArgs(Args):
    """The plugin's arguments. ignoredResources: extended resources that the plugin does not check."""

    ignored_resources: frozenset[Annotated[str, Field(pattern="/")]] = Field(
        default=frozenset(), alias="ignoredResources"
    )
    ignored_resource_groups: frozenset[Annotated[str, Field(pattern="^[^/]+$")]] = Field(
        default=frozenset(), alias="ignoredResourceGroups"
    )
    scoring_strategy: ScoringStrategy = Field(default=ScoringStrategy(), alias="scoringStrategy")


Shortage = tuple[frozenset[str], frozenset[str], bool, bool]
"""The key of a status: the requested resources of which enough is left; the resources that are short; whether the
node's total is too small; whether it has too many pods."""


@dataclass(frozen=True, slots=True)
class RequestedAmounts:
    """The pod's requests that the filter checks, in the order of the reasons. statuses: the statuses returned so far,
    so that equal shortages share one Status."""

    amounts: tuple[tuple[str, int], ...]
    statuses: dict[Shortage, Status] = field(default_factory=dict, compare=False)
    by_name: Mapping[str, int] = field(init=False, compare=False)
    positive: frozenset[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", dict(self.amounts))
        object.__setattr__(self, "positive", frozenset(name for name, amount in self.amounts if amount > 0))


class NodeResourcesFit(FilterPlugin[RequestedAmounts], ScorePlugin[tuple[ScoredResource, ...]]):
    """Filters and scores as in kube-scheduler. Prefer the scheduler's own plugin, whose cache is fresher."""

    name = NAME
    reads = NODES_AND_PODS
    events_to_register = NODE_EVENTS | {ClusterEvent.ASSIGNED_POD_UPDATE, ClusterEvent.ASSIGNED_POD_DELETE}

    def __init__(self, args: NodeResourcesFitArgs) -> None:
        self._ignored = args.ignored_resources
        self._ignored_groups = args.ignored_resource_groups
        self._resources = args.scoring_strategy.resources or CPU_AND_MEMORY
        self._scorer = args.scoring_strategy.scorer()

    def with_counting(self, counting: Counting) -> Self:
        found = copy(self)
        found._ignored = self._ignored | counting.ignored_by_scheduler
        return found

    def shape(self, pod: Pod) -> Hashable:
        requests = pod.spec.requests
        return shape_of_amounts(requests.asked, pod), shape_of_amounts(requests.scored, pod)

    def pre_filter(self, pod: Pod) -> PluginState[RequestedAmounts]:
        """Order the amounts: cpu, memory, ephemeral-storage, then others by name, which kube-scheduler leaves
        unordered."""
        amounts = pod.spec.requests.asked
        names = [*(name for name in NATIVE if name in amounts), *sorted(amounts.keys() - set(NATIVE))]
        return PluginState(RequestedAmounts(tuple((name, amounts[name]) for name in names if not self._ignores(name))))

    def filter(self, state: RequestedAmounts, node: NodeInfo) -> Status:
        free = node.free
        if len(node.pods) < node.allowed_pods:
            for name, amount in state.amounts:
                if amount > free.get(name, 0):
                    break
            else:
                return SUCCESS
        return _rejected(state, node)

    def pre_score(self, pod: Pod) -> PluginState[tuple[ScoredResource, ...]]:
        return PluginState(scored_resources(self._resources, pod.spec.requests.scored))

    def score(self, state: tuple[ScoredResource, ...], node: NodeInfo) -> int:
        return self._scorer(shares(state, node, non_zero=True))

    def _ignores(self, name: str) -> bool:
        return is_extended(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)


def _rejected(state: RequestedAmounts, node: NodeInfo) -> Status:
    amounts, free, allocatable = state.by_name, node.free, node.allocatable
    # Compare only resources that the node has: the cost must not grow with the pod's number of resources.
    on_node = amounts.keys() & (free.keys() | allocatable.keys())
    enough = frozenset(name for name in on_node if amounts[name] <= free.get(name, 0))
    short = frozenset(on_node - enough)
    never = any(amounts[name] > allocatable.get(name, 0) for name in short) or not on_node >= state.positive
    too_many_pods = len(node.pods) >= node.allowed_pods
    key = enough, short, never, too_many_pods
    if (known := state.statuses.get(key)) is not None:
        return known
    reasons = [REASON_TOO_MANY_PODS] if too_many_pods else []
    length = 0
    for name, _ in state.amounts:
        if name not in short and (name in enough or name not in state.positive):
            continue
        length += len(name)
        if length > MAX_NAMES:
            reasons.append(REASON_INSUFFICIENT_OTHERS)
            break
        reasons.append(REASON_INSUFFICIENT.format(name))
    codes = [ReasonCode.INSUFFICIENT_RESOURCE] * len(reasons)
    if too_many_pods:
        codes[0] = ReasonCode.TOO_MANY_PODS
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if never else Code.UNSCHEDULABLE
    status = state.statuses[key] = Status(code, tuple(reasons), NAME, tuple(codes))
    return status
