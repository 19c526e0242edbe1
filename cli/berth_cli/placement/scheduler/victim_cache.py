"""A cache of victims by node, for later pods with the same filters.

A simulation of many pods evaluates the same nodes again and again, and each preemption changes only one node and the
disruption budgets. Between calls the budgets may change only through these evictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from berth.scheduling.evaluation.evaluation import Evaluation, nominated_beside
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.preemption.priority import priority_of
from berth.scheduling.preemption.victims import (
    Demand,
    DisruptionBudgets,
    DryRun,
    Victims,
    potential_victims,
    select_victims,
)

MAX_SHAPES = 64


def victims_on(evaluation: Evaluation, pod: Pod, node: NodeInfo, budgets: DisruptionBudgets) -> Victims | None:
    """Return the victims on one node; None if evictions make too little room."""
    return select_victims(DryRun.of(evaluation, pod, node), pod, budgets)


@dataclass(frozen=True, slots=True)
class _CachedVictims:
    """The victims on one node for priorities above `over` and up to `up_to`, as long as evictions violate the
    same budgets."""

    node: NodeInfo
    over: float
    up_to: float
    demand: Demand
    victims: Victims | None

    def holds(self, node: NodeInfo, priority: int, budgets: DisruptionBudgets) -> bool:
        """Return whether the entry is valid for this node, priority and budgets."""
        return self.node is node and self.over < priority <= self.up_to and budgets.splits_alike(self.demand)


@dataclass(frozen=True, slots=True)
class _CachedShape:
    """Cached victims for one set of filters. The reference to the filters keeps their id unique."""

    filters: LocalFilters
    by_node: dict[str, _CachedVictims] = field(default_factory=dict)


class VictimCache:
    """Caches victims for at most MAX_SHAPES sets of filters, with one entry per node. Not thread-safe."""

    def __init__(self) -> None:
        self._shapes: dict[int, _CachedShape] = {}

    def select(self, evaluation: Evaluation, pod: Pod, node: NodeInfo, budgets: DisruptionBudgets) -> Victims | None:
        """Return the result of `victims_on`, from the cache if possible."""
        # Nominated pods, and the verdicts of filters that depend on other nodes, can change even if this node does not.
        if (
            evaluation.filters
            or evaluation.rejected is not None
            or nominated_beside(pod, node.name, evaluation.snapshot)
        ):
            return victims_on(evaluation, pod, node, budgets)
        known = self._known(evaluation.local.filters)
        found = known.get(node.name)
        if found is None or not found.holds(node, priority_of(pod), budgets):
            demand = budgets.demand(potential_victims(node.pods, pod))
            found = _CachedVictims(node, *_range(pod, node), demand, victims_on(evaluation, pod, node, budgets))
            known[node.name] = found
        return found.victims

    def _known(self, filters: LocalFilters) -> dict[str, _CachedVictims]:
        shape = self._shapes.get(id(filters))
        if shape is None:
            if len(self._shapes) >= MAX_SHAPES:
                self._shapes.clear()
            shape = self._shapes[id(filters)] = _CachedShape(filters)
        return shape.by_node


def _range(pod: Pod, node: NodeInfo) -> tuple[float, float]:
    """Return the range of priorities for which the same pods of the node have lower priority."""
    priority = priority_of(pod)
    others = [priority_of(other) for other in node.pods]
    lower, higher = (each for each in others if each < priority), (each for each in others if each >= priority)
    return max(lower, default=-inf), min(higher, default=inf)
