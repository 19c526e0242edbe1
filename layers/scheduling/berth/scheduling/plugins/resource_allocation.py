"""Computes scores from the use of resources, and contains the plugin NodeResourcesBalancedAllocation.

As in Go, integers are divided toward zero, and fractions are 64-bit floats, so scores equal kube-scheduler's exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from berth.scheduling.fields.quantity import wrapped
from berth.scheduling.fields.resources import CPU, MEMORY, is_scalar
from berth.scheduling.framework.plugin import MAX_NODE_SCORE, PluginState, ScorePlugin, shape_of_amounts
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.snapshot.parts import NODES_AND_PODS


class ResourceSpec(Args):
    """A resource and its weight; the weight 0 means 1."""

    name: str
    weight: int = Field(default=1, ge=0, le=100)


CPU_AND_MEMORY = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))


@dataclass(frozen=True, slots=True)
class ScoredResource:
    name: str
    weight: int
    amount: int


class Share(NamedTuple):
    """A resource of a node. allocated: the amount of the node's pods. requested: the amount with the pod to place."""

    weight: int
    allocatable: int
    allocated: int
    requested: int


def scored_resources(resources: Iterable[ResourceSpec], requests: Mapping[str, int]) -> tuple[ScoredResource, ...]:
    """Return the resources that count for the pod, without scalar resources that it does not request."""
    return tuple(
        ScoredResource(each.name, each.weight or 1, requests.get(each.name, 0))
        for each in resources
        if requests.get(each.name, 0) or not is_scalar(each.name)
    )


def shares(wanted: Iterable[ScoredResource], node: NodeInfo, *, non_zero: bool) -> list[Share]:
    """Return a share for each resource of the node. non_zero: use the defaults for missing cpu and memory requests."""
    usage = node.usage
    found = []
    for each in wanted:
        allocatable = node.allocatable.get(each.name, 0)
        if not allocatable:
            continue
        if non_zero and each.name == CPU:
            allocated = usage.non_zero_cpu
        elif non_zero and each.name == MEMORY:
            allocated = usage.non_zero_memory
        else:
            allocated = usage.requested.get(each.name, 0)
        found.append(Share(each.weight, allocatable, allocated, allocated + each.amount))
    return found


Scorer = Callable[[Sequence[Share]], int]


def least_allocated(found: Sequence[Share]) -> int:
    return _weighted(
        found,
        lambda share: (
            0
            if share.requested > share.allocatable
            else _percent(share.allocatable - share.requested, share.allocatable)
        ),
    )


def most_allocated(found: Sequence[Share]) -> int:
    return _weighted(found, lambda share: _percent(min(share.requested, share.allocatable), share.allocatable))


def _percent(part: int, whole: int) -> int:
    """Return the percentage. For parts above 92 PB the product overflows 64 bits, as in kube-scheduler."""
    return _truncated(wrapped(part * MAX_NODE_SCORE), whole)


def _truncated(number: int, divisor: int) -> int:
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) is (divisor < 0) else -quotient


def _weighted(found: Sequence[Share], score: Callable[[Share], int]) -> int:
    weights = sum([share.weight for share in found])
    return _truncated(sum([score(share) * share.weight for share in found]), weights) if weights else 0


def requested_to_capacity_ratio(points: Sequence[tuple[int, int]]) -> Scorer:
    """Return a scorer that interpolates (utilization, score) points. Resources that score 0 do not count in the
    average."""

    def scorer(found: Sequence[Share]) -> int:
        total = weights = 0
        for share in found:
            full = share.requested > share.allocatable
            score = _interpolated(points, 100 if full else _percent(share.requested, share.allocatable))
            if score > 0:
                total += score * share.weight
                weights += share.weight
        return math.floor(total / weights + 0.5) if weights else 0

    return scorer


def _interpolated(points: Sequence[tuple[int, int]], utilization: int) -> int:
    before = points[0]
    for point in points:
        if utilization <= point[0]:
            if point is points[0]:
                return point[1]
            rise, run = point[1] - before[1], point[0] - before[0]
            return before[1] + _truncated(rise * (utilization - before[0]), run)
        before = point
    return before[1]


def balance(fractions: Sequence[float]) -> int:
    """Return MAX_NODE_SCORE if all fractions are equal, and less the more they differ (standard deviation)."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(fractions))
    return int((1 - deviation) * MAX_NODE_SCORE)


class NodeResourcesBalancedAllocationArgs(Args):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    @model_validator(mode="after")
    def _alike(self) -> Self:
        names = [each.name for each in self.resources]
        if len(set(names)) < len(names):
            raise ValueError("resources names one more than once")
        if any(each.weight not in (0, 1) for each in self.resources):
            raise ValueError("resources must have weight 1")
        return self


class NodeResourcesBalancedAllocation(ScorePlugin[tuple[ScoredResource, ...]]):
    """Scores as in kube-scheduler: prefers nodes whose resources are used more evenly with the pod on them. For a pod
    without requests every node scores 0."""

    name = "NodeResourcesBalancedAllocation"
    reads = NODES_AND_PODS

    def __init__(self, args: NodeResourcesBalancedAllocationArgs) -> None:
        self._resources = args.resources or CPU_AND_MEMORY

    def shape(self, pod: Pod) -> Hashable:
        return shape_of_amounts(pod.spec.requests.placed, pod)

    def pre_score(self, pod: Pod) -> PluginState[tuple[ScoredResource, ...]] | None:
        found = scored_resources(self._resources, pod.spec.requests.placed)
        return PluginState(found) if any(each.amount for each in found) else None

    def score(self, state: tuple[ScoredResource, ...], node: NodeInfo) -> int:
        """Return 75 if the balance stays the same, up to 100 if it improves, and down to 50 if it worsens."""
        found = shares(state, node, non_zero=False)
        after = balance([min(share.requested / share.allocatable, 1.0) for share in found])
        before = balance([min(share.allocated / share.allocatable, 1.0) for share in found])
        return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + after - before) // 2
