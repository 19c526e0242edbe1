"""PodDisruptionBudgets against the evictions of preemption (fact 31)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from berth.scheduling.objects import LabelSet, Pod, PodDisruptionBudget

Demand = tuple[tuple[int, int, int], ...]
"""For each budget: its index, how many of the pods it covers, and how many disruptions of these it allows."""


class DisruptionBudgets:
    """The budgets of a cluster. It remembers which budgets match a label set: budgets are few and label sets repeat."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[tuple[int, PodDisruptionBudget]]] = {}
        self._allowed: list[int] = []
        self._has_disrupted_pods = False
        for index, budget in enumerate(budgets):
            self._has_disrupted_pods = self._has_disrupted_pods or bool(budget.disrupted_pods)
            self._allowed.append(max(0, budget.disruptions_allowed))
            self._by_namespace.setdefault(budget.namespace, []).append((index, budget))
        self._matching: dict[LabelSet, tuple[tuple[int, PodDisruptionBudget], ...]] = {}

    def split(self, pods: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
        """The pods whose eviction would violate a budget, and the other pods.

        Each pod, in this order, takes one disruption from every budget that covers it, even if it is reprieved later.
        As in kube-scheduler, the more important pods use up the budget, and the less important ones violate it.
        """
        if not self._by_namespace:
            return [], list(pods)
        violating: list[Pod] = []
        others: list[Pod] = []
        for pod, violated in self._disrupted(pods):
            (violating if violated else others).append(pod)
        return violating, others

    def violated(self, pods: Iterable[Pod]) -> dict[str, tuple[str, ...]]:
        """The violated budgets as `namespace/name`, by the UID of each pod that violates one."""
        return {
            pod.uid: tuple(sorted(f"{budget.namespace}/{budget.name}" for budget in violated))
            for pod, violated in self._disrupted(pods)
            if violated
        }

    def demand(self, pods: Iterable[Pod]) -> Demand:
        """How many of the pods each budget covers, and how many it allows of these."""
        covered = Counter(index for pod in pods for index, _ in self._covering(pod))
        return tuple((index, count, min(self._allowed[index], count)) for index, count in covered.items())

    def splits_alike(self, demand: Demand) -> bool:
        """Whether the pods of this demand violate the same budgets as when it was computed.

        Only the disruptions that the budgets allow may have changed since then.
        """
        allowed = self._allowed
        return all(min(allowed[index], count) == least for index, count, least in demand)

    def _disrupted(self, pods: Iterable[Pod]) -> Iterator[tuple[Pod, Sequence[PodDisruptionBudget]]]:
        left: dict[int, int] = {}
        for pod in pods:
            violated: Sequence[PodDisruptionBudget] = ()
            for index, budget in self._covering(pod):
                allowed = left.get(index, budget.disruptions_allowed) - 1
                left[index] = allowed
                if allowed < 0:
                    violated = (*violated, budget)
            yield pod, violated

    def _covering(self, pod: Pod) -> Iterable[tuple[int, PodDisruptionBudget]]:
        found = self._matching.get(pod.label_set)
        if found is None:
            found = tuple(pair for pair in self._by_namespace.get(pod.namespace, ()) if pair[1].selects(pod.label_set))
            self._matching[pod.label_set] = found
        # The API server has counted the eviction of a disrupted pod already.
        return [pair for pair in found if pod.name not in pair[1].disrupted_pods] if self._has_disrupted_pods else found


def after_evictions(budgets: Sequence[PodDisruptionBudget], pods: Iterable[Pod]) -> Sequence[PodDisruptionBudget]:
    """The budgets after these pods are evicted; the same object where they allow as much as before.

    A terminating pod has been counted already. A budget does not go below zero.
    """
    counted = [pod for pod in pods if not pod.terminating]
    found = [
        replace(budget, disruptions_allowed=max(0, budget.disruptions_allowed - sum(map(budget.covers, counted))))
        for budget in budgets
    ]
    return budgets if all(map(_allows_as_many, found, budgets)) else tuple(found)


def _allows_as_many(one: PodDisruptionBudget, other: PodDisruptionBudget) -> bool:
    return one.disruptions_allowed == other.disruptions_allowed
