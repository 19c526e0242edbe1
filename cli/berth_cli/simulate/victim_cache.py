"""The victims that were found on nodes, kept for the next pod of the same shape.

A run of many pods looks at the same nodes again and again, and each preemption changes one of them, and what budgets
allow. The budgets must be the same otherwise from one call to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.nominated_pods import nominated_beside
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.preemption.disruption_budgets import Demand, DisruptionBudgets
from berth.scheduling.preemption.evaluator import select
from berth.scheduling.preemption.priority import priority_of
from berth.scheduling.preemption.victims import Victims, potential_victims

MAX_SHAPES = 64


@dataclass(frozen=True, slots=True)
class _Found:
    """Holds for this node, for priorities above `over` and up to `up_to`, and while budgets meet the demand so."""

    node: NodeInfo
    over: float
    up_to: float
    demand: Demand
    victims: Victims | None

    def holds(self, node: NodeInfo, priority: int, budgets: DisruptionBudgets) -> bool:
        """Whether it does."""
        return self.node is node and self.over < priority <= self.up_to and budgets.splits_alike(self.demand)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Found with these filters, which are one object for as long as they are kept."""

    filters: LocalFilters
    by_node: dict[str, _Found] = field(default_factory=dict)


class VictimCache:
    """Grows with shapes times nodes, up to a bound. Not safe to share between threads."""

    def __init__(self) -> None:
        self._shapes: dict[int, _Shape] = {}

    def select(self, evaluation: Evaluation, pod: Pod, node: NodeInfo, budgets: DisruptionBudgets) -> Victims | None:
        """What `select` says, or has said before."""
        # Filters that look at other nodes, and pods that are expected on this one, may change while the node does not.
        if (
            evaluation.filters
            or evaluation.rejected is not None
            or nominated_beside(pod, node.name, evaluation.snapshot)
        ):
            return select(evaluation, pod, node, budgets)
        known = self._known(evaluation.local.filters)
        found = known.get(node.name)
        if found is None or not found.holds(node, priority_of(pod), budgets):
            demand = budgets.demand(potential_victims(node.pods, pod))
            found = _Found(node, *_range(pod, node), demand, select(evaluation, pod, node, budgets))
            known[node.name] = found
        return found.victims

    def _known(self, filters: LocalFilters) -> dict[str, _Found]:
        shape = self._shapes.get(id(filters))
        if shape is None:
            if len(self._shapes) >= MAX_SHAPES:
                self._shapes.clear()
            shape = self._shapes[id(filters)] = _Shape(filters)
        return shape.by_node


def _range(pod: Pod, node: NodeInfo) -> tuple[float, float]:
    """The priorities at which the same pods of the node are of lower priority."""
    priority = priority_of(pod)
    others = [priority_of(other) for other in node.pods]
    lower, higher = (each for each in others if each < priority), (each for each in others if each >= priority)
    return max(lower, default=-inf), min(higher, default=inf)
