"""ManagedResources: a node must have enough left of the counted resources that the pod requests.

This is Berth's own plugin, and the only check of a resource that the scheduler ignores (fact 38). Pods on the node use
resources, and so do pods that are being bound to it. A node with devices needs one device with enough room. Codes and
reasons are as in NodeResourcesFit: evictions may help, unless the node's capacity is too small.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from pydantic import Field

from berth.scheduling.framework.plugin import (
    NODE_EVENTS,
    SUCCESS,
    ClusterEvent,
    Code,
    FilterPlugin,
    PluginState,
    ScorePlugin,
    Status,
    unresolvable,
)
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import (
    REASON_ANNOTATION,
    REASON_LIMIT,
    REASON_PERCENT,
    REASON_REQUEST,
    Demand,
    UnreadableRequest,
)
from berth.scheduling.managed_resources.floating import Insufficient, insufficient
from berth.scheduling.managed_resources.pools import left
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.resource_allocation import Share, least_allocated, most_allocated
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_AND_PODS

NAME = "ManagedResources"

# The reason if the node's capacity cannot be read. If too little is left, the reason is `Insufficient` with the
# resource, which is unresolvable if the node's capacity is too small.
REASON_UNREADABLE = "node(s) had an amount of {} that cannot be read"


class ManagedResourcesScoring(StrEnum):
    """The nodes that get a higher score. binpack: nodes with less left. spread: nodes with more left."""

    BINPACK = "binpack"
    SPREAD = "spread"


class ManagedResourcesArgs(Args):
    """The plugin's arguments. scoring: considers the resources that the pod requests, all with equal weight."""

    scoring: ManagedResourcesScoring = Field(default=ManagedResourcesScoring.BINPACK)


@dataclass(frozen=True, slots=True)
class PodDemands:
    """The pod's demands. statuses: the statuses returned so far, so that equal shortages share one Status."""

    demands: tuple[Demand, ...]
    statuses: dict[tuple[tuple[str, ...], bool], Status] = field(default_factory=dict, compare=False)


class ManagedResources(FilterPlugin[PodDemands], ScorePlugin[PodDemands]):
    """Filters and scores by counted resources. Without such resources every node passes."""

    name = NAME
    reads = NODES_AND_PODS
    events_to_register = NODE_EVENTS | {ClusterEvent.ASSIGNED_POD_UPDATE, ClusterEvent.ASSIGNED_POD_DELETE}
    # bind rejects every pod whose counted resources are not free, even an exempt pod.
    applies_to_exempt_pods = True
    is_reserved = True

    def __init__(self, args: ManagedResourcesArgs) -> None:
        self._counting = Counting()
        self._score = most_allocated if args.scoring is ManagedResourcesScoring.BINPACK else least_allocated

    def with_counting(self, counting: Counting) -> Self:
        found = copy(self)
        found._counting = counting
        return found

    @property
    def reasons(self) -> frozenset[str]:
        found = {REASON_UNREADABLE, REASON_REQUEST, REASON_PERCENT, REASON_LIMIT, REASON_ANNOTATION}
        return frozenset(found.union(map(insufficient, self._counting.on_nodes)))

    def shape(self, pod: Pod) -> Hashable:
        return self._demands(pod)

    def _demands(self, pod: Pod) -> tuple[Demand, ...] | UnreadableRequest:
        """Return the demands that are counted on the node. FloatingResources filters by the other demands."""
        demands = self._counting.demands(pod)
        return demands if isinstance(demands, UnreadableRequest) else self._counting.node_demands(demands)

    def pre_filter(self, pod: Pod) -> PluginState[PodDemands] | Status | None:
        demands = self._demands(pod)
        if isinstance(demands, UnreadableObject):
            return unresolvable(NAME, demands.cause, reason_code=demands.reason_code)
        return PluginState(PodDemands(demands)) if demands else None

    def filter(self, state: PodDemands, node: NodeInfo) -> Status:
        chosen = self._counting.placed(state.demands, node)
        return self._rejected(state, node, chosen) if isinstance(chosen, Insufficient) else SUCCESS

    def pre_score(self, pod: Pod) -> PluginState[PodDemands] | None:
        demands = self._demands(pod)
        return None if isinstance(demands, UnreadableObject) or not demands else PluginState(PodDemands(demands))

    def score(self, state: PodDemands, node: NodeInfo) -> int:
        return self._score(self._shares(state.demands, node))

    def _shares(self, demands: Sequence[Demand], node: NodeInfo) -> list[Share]:
        """Return the allocation of each resource over all its devices, with the pod on the node."""
        capacity = self._counting.capacity(node)
        free = left(capacity, self._counting.used(node.pods, capacity))
        chosen = self._counting.choose(demands, capacity, free)
        if isinstance(chosen, Insufficient):
            # The node has changed since filter accepted it.
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
            codes = tuple(
                ReasonCode.NODE_CAPACITY_UNREADABLE if name in unreadable else ReasonCode.INSUFFICIENT_COUNTED_RESOURCE
                for name in short.resources
            )
            status = state.statuses[key] = Status(code, reasons, NAME, codes)
        return status
