"""Priorities, the victims on one node (fact 30), and the best node to preempt on (fact 32)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from berth.scheduling.objects import Pod, PriorityClass
from berth.scheduling.preemption.disruption_budgets import DisruptionBudgets
from berth.scheduling.preemption.dry_run import DryRun

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
NEVER = "Never"

NO_CLASS = PriorityClass("", 0, preemption_policy=PREEMPT_LOWER_PRIORITY)
"""The class of pods that name no class, in a cluster without a default class."""

_BUILT_IN = {
    name: PriorityClass(name, value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}


def priority_of(pod: Pod) -> int:
    """The priority that preemption compares. It is the number in the pod: the scheduler reads no PriorityClass."""
    return pod.spec.priority or 0


def by_importance(pod: Pod) -> tuple[int, float]:
    """A sort key, the most important pod first: by priority, then by start time. A pod that has not started is last."""
    return -(pod.spec.priority or 0), inf if pod.start_time is None else pod.start_time


def priority_class_of(name: str, classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    """The class of a pod that names this one, as the API server's admission finds it; None where there is none.

    Only for manifests: a stored pod has its number. Without a name the default class counts; of several, the lowest.
    """
    if name:
        return classes.get(name) or _BUILT_IN.get(name)
    defaults = [each for each in classes.values() if each.global_default]
    return min(defaults, key=lambda each: each.value, default=NO_CLASS)


NO_UIDS: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from one node, the most important first, and how many evictions violate a budget."""

    pods: tuple[Pod, ...]
    num_pdb_violations: int


def potential_victims(pods: Iterable[Pod], pod: Pod) -> list[Pod]:
    """The pods of lower priority than the pod to place, the most important first."""
    priority = priority_of(pod)
    return sorted((other for other in pods if priority_of(other) < priority), key=by_importance)


def select_victims(
    node: DryRun, pod: Pod, budgets: DisruptionBudgets, certain: Collection[str] = NO_UIDS
) -> Victims | None:
    """The victims on this node; None where the pod does not fit even without all pods of lower priority.

    Pods that violate a budget are reprieved first, then the others, the most important first. A pod is reprieved if the
    pod to place fits beside it and beside the pods reprieved before.

    certain: UIDs of pods that are victims in any case.
    """
    potential = potential_victims(node.node.pods, pod)
    if not potential:
        return None
    room = node.without(potential)
    if not room.fits:
        return None
    victims = []
    violations = 0
    for number, group in enumerate(budgets.split(potential)):
        for other in group:
            reprieved = None if other.uid in certain else room.reprieving(other)
            if reprieved is None:
                victims.append(other)
                violations += number == 0
            else:
                room = reprieved
    victims.sort(key=by_importance)
    return Victims(tuple(victims), violations) if victims else None


EvictionCost = tuple[int, int, int, int, float]

_OFFSET = 1 << 31
"""Added to every priority, so that one more victim makes a larger sum, whatever its priority."""


class Criterion(StrEnum):
    """The criteria of the choice, in their order: why a node is not chosen. TIED: no criterion decides."""

    VIOLATIONS = "more victims there violate a PodDisruptionBudget"
    HIGHEST = "a victim there has a higher priority"
    SUM = "the victims' priorities there make a higher sum"
    NUMBER = "more victims there"
    START = "the victims there started earlier"
    TIED = "just as good"


_CRITERIA = (Criterion.VIOLATIONS, Criterion.HIGHEST, Criterion.SUM, Criterion.NUMBER, Criterion.START)


def deciding_criterion(cost: EvictionCost, lowest: EvictionCost) -> Criterion:
    """The first criterion in which this cost differs from the lowest one."""
    differing = (each for each, one, other in zip(_CRITERIA, cost, lowest, strict=True) if one != other)
    return next(differing, Criterion.TIED)


def best_candidates(candidates: Mapping[str, Victims]) -> list[str]:
    """The nodes with the lowest eviction cost, by name. kube-scheduler takes any one of them, Berth the first."""
    if not candidates:
        return []
    costs = {name: eviction_cost(victims) for name, victims in candidates.items()}
    lowest = min(costs.values())
    return sorted(name for name, each in costs.items() if each == lowest)


def eviction_cost(victims: Victims) -> EvictionCost:
    """The cost of evicting these victims: a number for each criterion, in order; less is better.

    Budgets violated; the highest priority; the sum of the priorities; the number of pods; how early the first of those
    with the highest priority has started.
    """
    priorities = [priority_of(pod) for pod in victims.pods]
    negated, start = min(map(by_importance, victims.pods))
    return victims.num_pdb_violations, -negated, sum(priorities) + _OFFSET * len(priorities), len(priorities), -start
