"""Selects the victims on a node (fact 30), and the best node for preemption (fact 32)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from berth.scheduling.evaluation.evaluation import Evaluation, nominated_beside
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.objects import LabelSet, NodeInfo, Pod, PodDisruptionBudget
from berth.scheduling.objects.node import UNUSED, host_ports_of
from berth.scheduling.preemption.priority import NO_UIDS, by_importance, priority_of


@dataclass(frozen=True, slots=True)
class DryRun:
    """The state of a node in a dry run. Immutable. nominated: its nominated pods that count for the pod to place."""

    local: LocalFilters
    states: tuple[ClusterFilter, ...]
    node: NodeInfo
    nominated: Sequence[Pod] = ()

    @classmethod
    def of(cls, evaluation: Evaluation, pod: Pod, node: NodeInfo) -> Self:
        local = evaluation.local.filters if evaluation.rejected is None else LocalFilters(rejected=evaluation.rejected)
        return cls(local, evaluation.filters, node, nominated_beside(pod, node.name, evaluation.snapshot))

    @property
    def fits(self) -> bool:
        """Return whether all filters pass, with the nominated pods and without them (fact 34)."""
        if self.nominated and self._beside(self.nominated) is None:
            return False
        return self._passes_locally and self._passes_by(self.states)

    def without(self, pods: Collection[Pod]) -> DryRun:
        node, states = _without(self.node, pods), self.states
        for pod in pods if states else ():
            states = tuple([state.without_pod(pod, node) for state in states])
        return self._at(node, states)

    def reprieving(self, pod: Pod) -> DryRun | None:
        """Return the dry run with the pod added again; None if the pod to place then does not fit."""
        beside = self._beside((pod,))
        return beside if beside is not None and (not self.nominated or beside.fits) else None

    def _beside(self, pods: Sequence[Pod]) -> DryRun | None:
        """Return the dry run with these pods added; None if the filters then reject the node."""
        node = self.node.with_pods_and_usage((*self.node.pods, *pods), self.node.usage.plus(pods))
        beside = self._at(node, self.states)
        # Run the filters for one node first: resources are the most frequent reason for a rejection.
        if not beside._passes_locally:
            return None
        if not self.states:
            return beside
        states = self.states
        for pod in pods:
            states = tuple([state.with_pod(pod, node) for state in states])
        return self._at(node, states) if beside._passes_by(states) else None

    def _at(self, node: NodeInfo, states: tuple[ClusterFilter, ...]) -> DryRun:
        return DryRun(self.local, states, node, self.nominated)

    @property
    def _passes_locally(self) -> bool:
        # Use `filter_nominated`: the nominated node may not be in `node_names`.
        return self.local.filter_nominated(self.node) is SUCCESS

    def _passes_by(self, states: Sequence[ClusterFilter]) -> bool:
        return all(state.filter(self.node) is SUCCESS for state in states)


def _without(node: NodeInfo, pods: Collection[Pod]) -> NodeInfo:
    gone = {id(pod) for pod in pods}
    stay = tuple(pod for pod in node.pods if id(pod) not in gone)
    # As in kube-scheduler, used ports are a set: removing a pod frees its ports even if another pod uses them.
    ports = node.usage.host_ports
    if ports:
        ports = ports - host_ports_of(pods)
    if len(stay) > len(pods):
        return node.with_pods_and_usage(stay, node.usage.minus(pods, ports))
    usage = UNUSED.plus(stay)
    return node.with_pods_and_usage(stay, usage if usage.host_ports == ports else replace(usage, host_ports=ports))


Demand = tuple[tuple[int, int, int], ...]
"""One tuple per budget: its index, the number of pods that it covers, and how many of these may be disrupted."""


class DisruptionBudgets:
    """The budgets of a cluster. The matching budgets are cached by label set, which many pods share."""

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
        """Return the pods whose eviction would violate a budget, and the other pods. Each pod, in this order, uses one
        disruption of every budget that covers it, even if it is reprieved later, as in kube-scheduler."""
        if not self._by_namespace:
            return [], list(pods)
        violating: list[Pod] = []
        others: list[Pod] = []
        for pod, violated in self._disrupted(pods):
            (violating if violated else others).append(pod)
        return violating, others

    def violated(self, pods: Iterable[Pod]) -> dict[str, tuple[str, ...]]:
        """Return the budgets that the eviction of each pod would violate, as `namespace/name` by UID."""
        return {
            pod.uid: tuple(sorted(f"{budget.namespace}/{budget.name}" for budget in violated))
            for pod, violated in self._disrupted(pods)
            if violated
        }

    def demand(self, pods: Iterable[Pod]) -> Demand:
        """Return the demand of these pods on every budget that covers at least one of them."""
        covered = Counter(index for pod in pods for index, _ in self._covering(pod))
        return tuple((index, count, min(self._allowed[index], count)) for index, count in covered.items())

    def splits_alike(self, demand: Demand) -> bool:
        """Return whether pods with this demand violate the same budgets as when the demand was computed. Only the
        numbers of allowed disruptions may have changed since then."""
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


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from one node, the most important first, and the number of evictions that violate a budget."""

    pods: tuple[Pod, ...]
    num_pdb_violations: int


def potential_victims(pods: Iterable[Pod], pod: Pod) -> list[Pod]:
    """Return the pods of lower priority than the pod to place, the most important first."""
    priority = priority_of(pod)
    return sorted((other for other in pods if priority_of(other) < priority), key=by_importance)


def select_victims(
    node: DryRun, pod: Pod, budgets: DisruptionBudgets, certain: Collection[str] = NO_UIDS
) -> Victims | None:
    """Return the victims on this node; None if there are no victims, or if the pod does not fit even without all
    pods of lower priority. certain: UIDs of pods that are always victims.

    Pods whose eviction violates a budget are tried first, then the others, each time the most important first. A pod is
    reprieved if the pod to place fits together with it and with all pods that were reprieved before.
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
"""The amount added to each priority, so that every further victim increases the sum, even with a negative priority."""


def best_candidates(candidates: Mapping[str, Victims]) -> list[str]:
    """Return the nodes with the lowest cost, ordered by name. kube-scheduler uses any of them; Berth uses the first."""
    if not candidates:
        return []
    costs = {name: eviction_cost(victims) for name, victims in candidates.items()}
    lowest = min(costs.values())
    return sorted(name for name, each in costs.items() if each == lowest)


def eviction_cost(victims: Victims) -> EvictionCost:
    """Return the cost of evicting these victims as a tuple; the lowest is best. Its values: the number of violations of
    budgets, the highest priority, the sum of the priorities, the number of pods, and the negated earliest start of a
    pod of the highest priority."""
    priorities = [priority_of(pod) for pod in victims.pods]
    negated, start = min(map(by_importance, victims.pods))
    return victims.num_pdb_violations, -negated, sum(priorities) + _OFFSET * len(priorities), len(priorities), -start
