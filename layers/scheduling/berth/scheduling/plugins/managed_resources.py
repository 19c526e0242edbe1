"""ManagedResources: a node must have left what the pod asks for of the resources that Berth counts.

Berth's own, and the only authority on a resource that the scheduler ignores (fact 38). What is used is what the pods on
the node hold, those that are being bound there included; a node with devices needs one device with enough room. Code
and reason are those of NodeResourcesFit: evictions might help unless the node never had enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from pydantic import Field

from berth.scheduling.framework.plugin import FilterPlugin, PluginState, ScorePlugin
from berth.scheduling.framework.status import SUCCESS, Code, Status, unresolvable
from berth.scheduling.managed_resources.counting import Counting, Insufficient, insufficient, left
from berth.scheduling.managed_resources.demand import REASON_ANNOTATION, REASON_PERCENT, REASON_REQUEST, Demand
from berth.scheduling.objects import NodeInfo, Pod, Unreadable
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.resource_allocation import Share, least_allocated, most_allocated

NAME = "ManagedResources"

__all__ = ["NAME", "REASON_ANNOTATION", "REASON_PERCENT", "REASON_REQUEST", "ManagedResources", "ManagedResourcesArgs"]

# Given where the node's own word for what it has is none. Where it is one, and less is left: `Insufficient` and which,
# unresolvable if the node never had enough.
REASON_UNREADABLE = "node(s) had an amount of {} that cannot be read"


class ManagedResourcesScoring(StrEnum):
    """Whether a node is the better the less is left on it (binpack), or the more (spread)."""

    BINPACK = "binpack"
    SPREAD = "spread"


class ManagedResourcesArgs(Args):
    """`scoring`: by what the pod asks for alone; every resource counts alike."""

    scoring: ManagedResourcesScoring = Field(default=ManagedResourcesScoring.BINPACK)


@dataclass(frozen=True, slots=True)
class PodDemands:
    """What the pod asks for. statuses: those given so far: the same shortage on many nodes is one Status."""

    demands: tuple[Demand, ...]
    statuses: dict[tuple[tuple[str, ...], bool], Status] = field(default_factory=dict, compare=False)


class ManagedResources(FilterPlugin[PodDemands], ScorePlugin[PodDemands]):
    """Without resources to count it passes every node."""

    name = NAME
    # bind refuses a pod whose counted resources are not there, exempt or not.
    applies_to_exempt_pods = True

    def __init__(self, args: ManagedResourcesArgs) -> None:
        self._counting = Counting()
        self._score = most_allocated if args.scoring is ManagedResourcesScoring.BINPACK else least_allocated

    def with_counting(self, counting: Counting) -> Self:
        found = copy(self)
        found._counting = counting
        return found

    @property
    def reasons(self) -> frozenset[str]:
        """All that it may give."""
        found = {REASON_UNREADABLE, REASON_REQUEST, REASON_PERCENT, REASON_ANNOTATION}
        return frozenset(found.union(map(insufficient, self._counting.resources)))

    def shape(self, pod: Pod) -> Hashable:
        return self._counting.demands(pod)

    def pre_filter(self, pod: Pod) -> PluginState[PodDemands] | Status | None:
        demands = self._counting.demands(pod)
        if isinstance(demands, Unreadable):
            return unresolvable(NAME, demands.cause)
        return PluginState(PodDemands(demands)) if demands else None

    def filter(self, state: PodDemands, node: NodeInfo) -> Status:
        chosen = self._counting.placed(state.demands, node)
        return self._rejected(state, node, chosen) if isinstance(chosen, Insufficient) else SUCCESS

    def pre_score(self, pod: Pod) -> PluginState[PodDemands] | None:
        demands = self._counting.demands(pod)
        return None if isinstance(demands, Unreadable) or not demands else PluginState(PodDemands(demands))

    def score(self, state: PodDemands, node: NodeInfo) -> int:
        return self._score(self._shares(state.demands, node))

    def _shares(self, demands: Sequence[Demand], node: NodeInfo) -> list[Share]:
        """Of each resource with all its devices, as if the pod were there."""
        capacity = self._counting.capacity(node)
        free = left(capacity, self._counting.used(node.pods, capacity))
        chosen = self._counting.choose(demands, capacity, free)
        if isinstance(chosen, Insufficient):
            # Another moment's verdict let it pass.
            return []
        found = []
        for demand in demands:
            pools = self._counting.pools(demand.resource, capacity)
            total = sum(capacity[pool] for pool in pools)
            allocated = total - sum(free[pool] for pool in pools)
            found.append(Share(1, total, allocated, allocated + sum(chosen.get(pool, 0) for pool in pools)))
        return found

    def _rejected(self, state: PodDemands, node: NodeInfo, short: Insufficient) -> Status:
        unreadable = self._counting.unreadable(node)
        reasons = tuple(
            REASON_UNREADABLE.format(name) if name in unreadable else insufficient(name) for name in short.resources
        )
        key = (reasons, short.never)
        status = state.statuses.get(key)
        if status is None:
            code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if short.never else Code.UNSCHEDULABLE
            status = state.statuses[key] = Status(code, reasons, NAME)
        return status
