"""NodeResourcesFit: a node must have enough resources left for the pod. The score depends on what is left."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Self, assert_never

from pydantic import Field, model_validator

from berth.scheduling.fields.resources import NATIVE, is_extended
from berth.scheduling.framework.plugin import FilterPlugin, PluginState, ScorePlugin
from berth.scheduling.framework.status import SUCCESS, Code, Status
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

NAME = "NodeResourcesFit"

# Given when the node has as many pods as it may have; never unresolvable.
REASON_TOO_MANY_PODS = "Too many pods"
# Given for each resource of which less is left than the pod asks for; unresolvable if the node never had enough.
REASON_INSUFFICIENT = "Insufficient {}"


class ScoringStrategyType(StrEnum):
    """The types of scoring strategies."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class UtilizationShapePoint(Args):
    """A point of the line: at this utilization, in per cent, that score."""

    utilization: int = Field(ge=0, le=100)
    score: int = Field(ge=0, le=10)


class RequestedToCapacityRatioParam(Args):
    """The line, utilizations ascending."""

    shape: tuple[UtilizationShapePoint, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        found = [point.utilization for point in self.shape]
        if found != sorted(set(found)):
            raise ValueError("shape: utilization must be in increasing order")
        return self


class ScoringStrategy(Args):
    """`requestedToCapacityRatio` goes with the type of that name, and with no other."""

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
        """The function that the type stands for."""
        match self.type:
            case ScoringStrategyType.LEAST_ALLOCATED:
                return least_allocated
            case ScoringStrategyType.MOST_ALLOCATED:
                return most_allocated
            case ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
                param = self.requested_to_capacity_ratio
                # Scores of the shape go to 10, those of a node to 100.
                return requested_to_capacity_ratio(
                    [(point.utilization, point.score * 10) for point in (param.shape if param else ())]
                )
        assert_never(self.type)


class NodeResourcesFitArgs(Args):
    """`ignoredResources`: extended resources that others count, as those with `ignoredByScheduler`."""

    ignored_resources: frozenset[Annotated[str, Field(pattern="/")]] = Field(
        default=frozenset(), alias="ignoredResources"
    )
    ignored_resource_groups: frozenset[Annotated[str, Field(pattern="^[^/]+$")]] = Field(
        default=frozenset(), alias="ignoredResourceGroups"
    )
    scoring_strategy: ScoringStrategy = Field(default=ScoringStrategy(), alias="scoringStrategy")


@dataclass(frozen=True, slots=True)
class RequestedAmounts:
    """The pod's requests that the filter checks, in the order of the reasons.

    statuses: the statuses returned so far, so that equal shortages share one Status.
    """

    amounts: tuple[tuple[str, int], ...]
    statuses: dict[tuple[tuple[str, ...], bool], Status] = field(default_factory=dict, compare=False)


class NodeResourcesFit(FilterPlugin[RequestedAmounts], ScorePlugin[tuple[ScoredResource, ...]]):
    """As in kube-scheduler. The plugin in a live scheduler is better: its cache is fresher."""

    name = NAME

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
        return tuple(requests.asked.items()), tuple(requests.scored.items())

    def pre_filter(self, pod: Pod) -> PluginState[RequestedAmounts]:
        return PluginState(RequestedAmounts(_in_order(pod.spec.requests.asked, self._is_ignored)))

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

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)


def _in_order(amounts: Mapping[str, int], ignored: Callable[[str], bool]) -> tuple[tuple[str, int], ...]:
    """cpu, memory, ephemeral-storage, then the others by name. kube-scheduler has no order for the others."""
    names = [*(name for name in NATIVE if name in amounts), *sorted(amounts.keys() - set(NATIVE))]
    return tuple((name, amounts[name]) for name in names if not ignored(name))


def _rejected(state: RequestedAmounts, node: NodeInfo) -> Status:
    """The status with every resource that is short."""
    short = [name for name, amount in state.amounts if amount > node.free.get(name, 0)]
    never = any(amount > node.allocatable.get(name, 0) for name, amount in state.amounts if name in short)
    reasons = [REASON_INSUFFICIENT.format(name) for name in short]
    if len(node.pods) >= node.allowed_pods:
        reasons.insert(0, REASON_TOO_MANY_PODS)
    key = (tuple(reasons), never)
    status = state.statuses.get(key)
    if status is None:
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if never else Code.UNSCHEDULABLE
        status = state.statuses[key] = Status(code, key[0], NAME)
    return status
