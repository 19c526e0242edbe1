"""The arithmetic of scores by resources.

Integers are divided toward zero, as in Go, and fractions are 64-bit floats: scores equal kube-scheduler's exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from berth.scheduling.fields.quantity import wrapped
from berth.scheduling.fields.resources import CPU, MEMORY, is_scalar
from berth.scheduling.framework.plugin import MAX_NODE_SCORE
from berth.scheduling.objects import NodeInfo
from berth.scheduling.plugins.arguments import Args


class ResourceSpec(Args):
    """A resource and its weight; 0 means 1."""

    name: str
    weight: int = Field(default=1, ge=0, le=100)


CPU_AND_MEMORY = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))


@dataclass(frozen=True, slots=True)
class ScoredResource:
    """A resource of a score, with the amount that the pod requests."""

    name: str
    weight: int
    amount: int


@dataclass(frozen=True, slots=True)
class Share:
    """A resource of a node: its allocatable amount, the amount of its pods, and the amount with the pod to place."""

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
    """Return the percentage. Above 92 PB the product overflows 64 bits, as in kube-scheduler."""
    return _truncated(wrapped(part * MAX_NODE_SCORE), whole)


def _truncated(number: int, divisor: int) -> int:
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) is (divisor < 0) else -quotient


def _weighted(found: Sequence[Share], score: Callable[[Share], int]) -> int:
    weights = sum(share.weight for share in found)
    return _truncated(sum(score(share) * share.weight for share in found), weights) if weights else 0


def requested_to_capacity_ratio(points: Sequence[tuple[int, int]]) -> Scorer:
    """Score by a broken line of (utilization, score). Resources that score 0 do not count, not even in the average."""

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
