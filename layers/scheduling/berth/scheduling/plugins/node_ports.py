"""NodePorts: only one pod can use a host port of a node."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from berth.scheduling.fields.requests import ALL_ADDRESSES, HostPort
from berth.scheduling.framework.plugin import (
    NODE_EVENTS,
    SUCCESS,
    ClusterEvent,
    FilterPlugin,
    PluginState,
    Status,
    shape_of,
    unschedulable,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_AND_PODS

NAME = "NodePorts"

# The reason if another pod on the node has one of the host ports.
REASON = "node(s) didn't have free ports for the requested pod ports"

_TAKEN = unschedulable(NAME, REASON, reason_code=ReasonCode.HOST_PORT_TAKEN)


class WantedPorts:
    """The host ports that the pod requests, indexed for comparison with the ports in use on a node."""

    __slots__ = ("_by_number", "_of_all_addresses", "_ports")

    def __init__(self, ports: Iterable[HostPort]) -> None:
        self._ports = frozenset(ports)
        self._by_number = {(port.protocol, port.port) for port in self._ports}
        self._of_all_addresses = {(port.protocol, port.port) for port in self._ports if port.ip == ALL_ADDRESSES}

    def conflict_with(self, used: HostPort) -> bool:
        """Return whether the used port conflicts. Addresses conflict if they are equal, or if one is `0.0.0.0`."""
        number = (used.protocol, used.port)
        return (
            number in (self._by_number if used.ip == ALL_ADDRESSES else self._of_all_addresses) or used in self._ports
        )


class NodePorts(FilterPlugin[WantedPorts]):
    """Filters as in kube-scheduler. The state: the host ports that the pod requests."""

    name = NAME
    reads = NODES_AND_PODS
    events_to_register = NODE_EVENTS | {ClusterEvent.ASSIGNED_POD_DELETE}

    def shape(self, pod: Pod) -> Hashable:
        return shape_of(pod.spec.host_ports, pod)

    def pre_filter(self, pod: Pod) -> PluginState[WantedPorts] | None:
        return PluginState(WantedPorts(pod.spec.host_ports)) if pod.spec.host_ports else None

    def filter(self, state: WantedPorts, node: NodeInfo) -> Status:
        used = node.usage.host_ports
        return _TAKEN if used and any(map(state.conflict_with, used)) else SUCCESS
