"""PodTopologySpread, filter: no topology may get too far ahead of the least."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest

from berth.scheduling.framework import ClusterFilter
from berth.scheduling.history import Step
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.pod_topology_spread.constraints import Constraint, Spread
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.status import SUCCESS, Status, unresolvable, unschedulable

NAME = "PodTopologySpread"

# Given when the pod would make the skew too large.
REASON = "node(s) didn't match pod topology spread constraints"
# Given when the node lacks a topology key.
REASON_MISSING_LABEL = REASON + " (missing required label)"

_SKEWED = unschedulable(NAME, REASON)
_MISSING_LABEL = unresolvable(NAME, REASON_MISSING_LABEL)

NO_PODS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class DomainCounts:
    """One constraint's count. pods: by topology value. nodes: how many nodes make up each domain.

    levels: how many domains have how many pods. full: the values where one pod more would be too many. least: the
    domains with fewest pods, when asked for.
    """

    constraint: Constraint
    self_match: int
    pods: Mapping[str, int]
    nodes: Mapping[str, int]
    levels: Mapping[int, int]
    full: frozenset[str]
    least: dict[int, list[tuple[int, str]]] = field(init=False, default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, constraint: Constraint, self_match: int, pods: Mapping[str, int], nodes: Mapping[str, int]
    ) -> DomainCounts:
        """From the counts alone."""
        levels = Counter(pods.values())
        limit = _limit(constraint, self_match, len(pods), min(levels, default=0))
        full = frozenset(value for value, number in pods.items() if number > limit)
        return cls(constraint, self_match, pods, nodes, levels, full)

    def changed(self, pods: Mapping[str, int], nodes: Mapping[str, int]) -> DomainCounts:
        """With these numbers added; a domain without nodes is none. The others are looked at if the limit changes."""
        all_nodes, all_pods, levels = self.nodes, dict(self.pods), dict(self.levels)
        if any(nodes.values()):
            all_nodes = {**all_nodes, **{value: all_nodes.get(value, 0) + number for value, number in nodes.items()}}
        values = {*pods, *nodes}
        for value in values:
            if value in all_pods:
                _count(levels, all_pods[value], -1)
            if all_nodes[value]:
                all_pods[value] = all_pods.get(value, 0) + pods.get(value, 0)
                _count(levels, all_pods[value], 1)
            else:
                all_pods.pop(value, None)
        if not all(map(all_nodes.__getitem__, values)):
            all_nodes = {value: number for value, number in all_nodes.items() if number}
        limit = _limit(self.constraint, self.self_match, len(all_pods), min(levels, default=0))
        if limit == self.limit(min(self.levels, default=0)):
            full = self.full - values | {value for value in values if all_pods.get(value, limit) > limit}
        else:
            full = frozenset(value for value, number in all_pods.items() if number > limit)
        return DomainCounts(self.constraint, self.self_match, all_pods, all_nodes, levels, full)

    def limit(self, least: int) -> int:
        """How many pods a domain may have for one more to be allowed, when the least has so many."""
        return _limit(self.constraint, self.self_match, len(self.pods), least)

    def is_full(self, value: str, extra: Mapping[str, int]) -> bool:
        """The same as `full`, with pods that are assumed to come or go."""
        numbers = [self.pods[key] + extra[key] for key in extra if key in self.pods]
        # As many of the least as there are changed ones, and one more: one of them is unchanged.
        unchanged = (number for number, key in self._least(len(extra) + 1) if key not in extra)
        least = min((*numbers, *unchanged), default=0)
        return self.pods.get(value, 0) + extra.get(value, 0) > self.limit(least)

    def _least(self, many: int) -> list[tuple[int, str]]:
        found = self.least.get(many)
        if found is None:
            found = self.least[many] = nsmallest(many, ((number, key) for key, number in self.pods.items()))
        return found


def _limit(constraint: Constraint, self_match: int, domains: int, least: int) -> int:
    if domains < constraint.min_domains:
        least = 0
    return constraint.max_skew + least - self_match


def _count(levels: dict[int, int], number: int, more: int) -> None:
    levels[number] = levels.get(number, 0) + more
    if not levels[number]:
        del levels[number]


@dataclass(frozen=True, slots=True)
class State(ClusterFilter):
    """extra: by constraint, the pods that are only assumed to come or go, by topology value."""

    spread: Spread
    domains: tuple[DomainCounts, ...]
    extra: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, spread: Spread, snapshot: Snapshot) -> State:
        """Count over all nodes."""
        pods: list[dict[str, int]] = [{} for _ in spread.constraints]
        nodes: list[dict[str, int]] = [{} for _ in spread.constraints]
        spread.see(snapshot)
        for node in snapshot.nodes.values() if spread.constraints else ():
            for index, value, number in spread.domains(node, seen=True):
                pods[index][value] = pods[index].get(value, 0) + number
                nodes[index][value] = nodes[index].get(value, 0) + 1
        return cls(
            spread,
            tuple(
                DomainCounts.of(each, int(spread.selects_itself(index)), pods[index], nodes[index])
                for index, each in enumerate(spread.constraints)
            ),
        )

    @property
    def skips(self) -> bool:
        return not self.domains

    def filter(self, node: NodeInfo) -> Status:
        labels = node.labels
        for index, each in enumerate(self.domains):
            value = labels.get(each.constraint.topology_key)
            if value is None:
                return _MISSING_LABEL
            if index in self.extra:
                if each.is_full(value, self.extra[index]):
                    return _SKEWED
            elif value in each.full:
                return _SKEWED
        return SUCCESS

    def moved_to(self, snapshot: Snapshot, step: Step) -> tuple[ClusterFilter, Collection[str] | None]:
        spread = self.spread.at(snapshot)
        if spread.constraints != self.spread.constraints:
            return State.of(spread, snapshot), None
        names = spread.concern(step, snapshot)
        if not names:
            return self if spread is self.spread else replace(self, spread=spread), ()
        domains = []
        turned: set[str] = set()
        for counts, more_pods, more_nodes in zip(
            self.domains, *self._changes(spread, names, step, snapshot), strict=True
        ):
            if not any(more_pods.values()) and not any(more_nodes.values()):
                domains.append(counts)
                continue
            changed = counts.changed(more_pods, more_nodes)
            domains.append(changed)
            for value in counts.full ^ changed.full:
                turned.update(snapshot.names_in(counts.constraint.topology_key, value))
        return State(spread, tuple(domains)), turned

    def _changes(
        self, spread: Spread, names: Collection[str], step: Step, snapshot: Snapshot
    ) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
        """By constraint and value: pods, and nodes."""
        pods: list[dict[str, int]] = [defaultdict(int) for _ in self.domains]
        nodes: list[dict[str, int]] = [defaultdict(int) for _ in self.domains]
        for name in names:
            before, after = step.before[name], snapshot.nodes.get(name)
            if before is not None and after is not None and spread.counts_alike(before, after):
                continue
            for node, sign in ((before, -1), (after, 1)):
                if node is not None:
                    for index, value, number in spread.domains(node):
                        pods[index][value] += sign * number
                        nodes[index][value] += sign
        return pods, nodes

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, -1)

    def _adjusted(self, pod: Pod, node: NodeInfo, sign: int) -> ClusterFilter:
        """As kube-scheduler does it: here pods that are being deleted count, and those that `{}` selects."""
        spread = self.spread
        if pod.label_set.namespace != spread.pod.label_set.namespace or not spread.covers(node):
            return self
        matching = [index for index in spread.included(node) if spread.matches(index, pod.label_set)]
        if not matching:
            return self
        extra = dict(self.extra)
        for index in matching:
            value = node.labels[spread.constraints[index].topology_key]
            found = extra.get(index, NO_PODS)
            extra[index] = {**found, value: found.get(value, 0) + sign}
        return replace(self, extra=extra)
