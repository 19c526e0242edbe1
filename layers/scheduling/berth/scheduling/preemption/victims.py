"""Which pods have to leave a node for a pod to fit: as few and as unimportant ones as possible (fact 30)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from berth.scheduling.objects import Pod
from berth.scheduling.preemption.disruption_budgets import DisruptionBudgets
from berth.scheduling.preemption.dry_run import DryRun
from berth.scheduling.preemption.priority import by_importance, priority_of

NOBODY: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from one node, the most important first, and how many of them violate a budget by it."""

    pods: tuple[Pod, ...]
    num_pdb_violations: int


def potential_victims(pods: Iterable[Pod], pod: Pod) -> list[Pod]:
    """Those of lower priority than the pod to place, the most important first."""
    priority = priority_of(pod)
    return sorted((other for other in pods if priority_of(other) < priority), key=by_importance)


def select_victims(
    node: DryRun, pod: Pod, budgets: DisruptionBudgets, certain: Collection[str] = NOBODY
) -> Victims | None:
    """The victims on this node; None where the pod does not fit even without all pods of lower priority.

    Those that violate a budget are reprieved first, then the others, each the most important first. A pod stays if the
    pod to place fits beside it and beside all that have been reprieved before.

    certain: UIDs of pods that have to leave in any case.
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
