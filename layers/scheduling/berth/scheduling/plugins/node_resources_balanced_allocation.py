"""NodeResourcesBalancedAllocation: prefers nodes whose resources the pod makes more evenly used."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

from pydantic import model_validator

from berth.scheduling.framework.plugin import MAX_NODE_SCORE, PluginState, ScorePlugin, shape_of_amounts
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.resource_allocation import (
    CPU_AND_MEMORY,
    ResourceSpec,
    ScoredResource,
    balance,
    scored_resources,
    shares,
)
from berth.scheduling.snapshot.parts import NODES_AND_PODS

NAME = "NodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocationArgs(Args):
    """`resources`: the resources to balance, each once and with weight 1."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    @model_validator(mode="after")
    def _alike(self) -> Self:
        names = [each.name for each in self.resources]
        if len(set(names)) < len(names):
            raise ValueError("resources names one more than once")
        if any(each.weight not in (0, 1) for each in self.resources):
            raise ValueError("resources must have weight 1")
        return self


class NodeResourcesBalancedAllocation(ScorePlugin[tuple[ScoredResource, ...]]):
    """Scores as in kube-scheduler. A pod without requests scores all nodes equally."""

    name = NAME
    reads = NODES_AND_PODS

    def __init__(self, args: NodeResourcesBalancedAllocationArgs) -> None:
        self._resources = args.resources or CPU_AND_MEMORY

    def shape(self, pod: Pod) -> Hashable:
        return shape_of_amounts(pod.spec.requests.placed, pod)

    def pre_score(self, pod: Pod) -> PluginState[tuple[ScoredResource, ...]] | None:
        found = scored_resources(self._resources, pod.spec.requests.placed)
        return PluginState(found) if any(each.amount for each in found) else None

    def score(self, state: tuple[ScoredResource, ...], node: NodeInfo) -> int:
        """Return 75 if the balance stays, up to 100 if it improves, and down to 50 if it worsens."""
        found = shares(state, node, non_zero=False)
        after = balance([min(share.requested / share.allocatable, 1.0) for share in found])
        before = balance([min(share.allocated / share.allocatable, 1.0) for share in found])
        return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + after - before) // 2
