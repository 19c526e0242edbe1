"""A dry run of preemption on one node: pods are removed and added, and the filters of a profile run again.

The filters' states come from the evaluation. Adding or removing a pod updates them, without a new count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.nominated_pods import nominated_beside
from berth.scheduling.fields.requests import HostPort
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.usage import UNUSED, Usage, host_ports_of


@dataclass(frozen=True, slots=True)
class DryRun:
    """A node in a dry run, immutable. nominated: the nominated pods of the node that count for the pod to place."""

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
        """Whether all filters pass, with the nominated pods and without them (fact 34)."""
        if self.nominated and self._beside(self.nominated) is None:
            return False
        return self._passes_locally and self._passes_by(self.states)

    def without(self, pods: Collection[Pod]) -> DryRun:
        """The node without these pods of it."""
        node, states = _without(self.node, pods), self.states
        for pod in pods if states else ():
            states = tuple([state.without_pod(pod, node) for state in states])
        return self._at(node, states)

    def reprieving(self, pod: Pod) -> DryRun | None:
        """The node with the pod added again; None where the pod to place then does not fit."""
        beside = self._beside((pod,))
        return beside if beside is not None and (not self.nominated or beside.fits) else None

    def _beside(self, pods: Sequence[Pod]) -> DryRun | None:
        """The node with these pods added; None where the filters then reject it."""
        node = self.node.with_pods_and_usage((*self.node.pods, *pods), self.node.usage.plus(pods))
        beside = self._at(node, self.states)
        # Resources are the most frequent reason. They are checked before the other states are updated.
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
        # `filter_nominated`: the nominated node may be another than the names that the filters leave.
        return self.local.filter_nominated(self.node) is SUCCESS

    def _passes_by(self, states: Sequence[ClusterFilter]) -> bool:
        return all(state.filter(self.node) is SUCCESS for state in states)


def _without(node: NodeInfo, pods: Collection[Pod]) -> NodeInfo:
    gone = {id(pod) for pod in pods}
    stay = tuple(pod for pod in node.pods if id(pod) not in gone)
    # As in kube-scheduler, used ports are a set: a removed pod frees its ports even if another pod uses them.
    ports = node.usage.host_ports
    if ports:
        ports = ports - host_ports_of(pods)
    return node.with_pods_and_usage(stay, _usage(node, stay, pods, ports))


def _usage(node: NodeInfo, stay: Sequence[Pod], gone: Collection[Pod], ports: frozenset[HostPort]) -> Usage:
    if len(stay) > len(gone):
        return node.usage.minus(gone, ports)
    usage = UNUSED.plus(stay)
    return usage if usage.host_ports == ports else replace(usage, host_ports=ports)
