"""One node with pods taken off it and put back, and what the filters of a profile would say of it then.

The filters' states are those of the evaluation: what pods add to them is taken off and added again, and nothing is
counted anew.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.nominated_pods import nominated_beside
from berth.scheduling.fields.containers import HostPort
from berth.scheduling.framework.plugin import ClusterFilter
from berth.scheduling.framework.profile import LocalFilters
from berth.scheduling.framework.status import SUCCESS
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.usage import UNUSED, Usage, host_ports_of


@dataclass(frozen=True, slots=True)
class DryRun:
    """Never changed. `nominated`: the pods that are expected on the node and count for the pod to place."""

    local: LocalFilters
    states: tuple[ClusterFilter, ...]
    node: NodeInfo
    nominated: Sequence[Pod] = ()

    @classmethod
    def of(cls, evaluation: Evaluation, pod: Pod, node: NodeInfo) -> Self:
        """The node as it is."""
        local = evaluation.local.filters if evaluation.rejected is None else LocalFilters(rejected=evaluation.rejected)
        return cls(local, evaluation.filters, node, nominated_beside(pod, node.name, evaluation.snapshot))

    @property
    def fits(self) -> bool:
        """Whether all filters pass, with the nominated pods and without them (fact 34)."""
        if self.nominated and self._beside(self.nominated) is None:
            return False
        return self._passes_locally and self._passes_by(self.states)

    def without(self, pods: Collection[Pod]) -> DryRun:
        """These pods, which are on the node, have left it."""
        node, states = _without(self.node, pods), self.states
        for pod in pods if states else ():
            states = tuple([state.without_pod(pod, node) for state in states])
        return self._at(node, states)

    def reprieving(self, pod: Pod) -> DryRun | None:
        """The pod is back; None where it cannot be."""
        beside = self._beside((pod,))
        return beside if beside is not None and (not self.nominated or beside.fits) else None

    def _beside(self, pods: Sequence[Pod]) -> DryRun | None:
        """With these pods, too; None where the filters do not pass then."""
        node = self.node.holding((*self.node.pods, *pods), self.node.usage.plus(pods))
        beside = self._at(node, self.states)
        # Most pods that cannot be back need the resources: that is seen before the others' states are changed.
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
        # Which names the filters have left is no question any more: the pod's nominated node may be another.
        return self.local.filter_nominated(self.node) is SUCCESS

    def _passes_by(self, states: Sequence[ClusterFilter]) -> bool:
        return all(state.filter(self.node) is SUCCESS for state in states)


def _without(node: NodeInfo, pods: Collection[Pod]) -> NodeInfo:
    gone = {id(pod) for pod in pods}
    stay = tuple(pod for pod in node.pods if id(pod) not in gone)
    # As kube-scheduler has it, the ports in use are a set: who leaves frees its ports, whoever else may hold them.
    ports = node.usage.host_ports
    if ports:
        ports = ports - host_ports_of(pods)
    return node.holding(stay, _usage(node, stay, pods, ports))


def _usage(node: NodeInfo, stay: Sequence[Pod], gone: Collection[Pod], ports: frozenset[HostPort]) -> Usage:
    if len(stay) > len(gone):
        return node.usage.minus(gone, ports)
    usage = UNUSED.plus(stay)
    return usage if usage.host_ports == ports else replace(usage, host_ports=ports)
