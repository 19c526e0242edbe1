"""NodePorts: a port of a node can be taken once."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.fields.containers import ALL_ADDRESSES, HostPort
from berth.scheduling.framework.plugin import FilterPlugin, PluginState
from berth.scheduling.framework.status import SUCCESS, Status, unschedulable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import NoArgs

NAME = "NodePorts"

# Given when another pod on the node has one of the host ports.
REASON = "node(s) didn't have free ports for the requested pod ports"

_TAKEN = unschedulable(NAME, REASON)

HostPorts = tuple[HostPort, ...]


class NodePorts(FilterPlugin[HostPorts]):
    """As in kube-scheduler. The state: the ports that the pod wants."""

    name = NAME

    def __init__(self, args: NoArgs) -> None:
        """There is nothing to choose."""

    def shape(self, pod: Pod) -> Hashable:
        return pod.spec.host_ports

    def pre_filter(self, pod: Pod) -> PluginState[HostPorts] | None:
        return PluginState(pod.spec.host_ports) if pod.spec.host_ports else None

    def filter(self, state: HostPorts, node: NodeInfo) -> Status:
        used = node.usage.host_ports
        return _TAKEN if used and any(_conflicts(port, used) for port in state) else SUCCESS


def _conflicts(wanted: HostPort, used: frozenset[HostPort]) -> bool:
    """All addresses conflict with any; an address conflicts with itself and with all."""
    if wanted.ip == ALL_ADDRESSES:
        return any(port.port == wanted.port and port.protocol == wanted.protocol for port in used)
    return wanted in used or wanted._replace(ip=ALL_ADDRESSES) in used
