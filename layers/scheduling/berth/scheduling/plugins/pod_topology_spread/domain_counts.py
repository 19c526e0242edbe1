"""The number of pods of each topology value, and the values that accept no further pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from berth.scheduling.plugins.pod_topology_spread.constraints import Constraint


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
