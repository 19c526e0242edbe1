"""NodeName: a pod with `spec.nodeName` fits only on that node."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, PluginState, Status, unresolvable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

NAME = "NodeName"

# Given when `spec.nodeName` is another node's.
REASON = "node(s) didn't match the requested node name"

_OTHER_NODE = unresolvable(NAME, REASON, reason_code=ReasonCode.NODE_NAME_MISMATCH)


class NodeName(FilterPlugin[str]):
    """Filters as in kube-scheduler. The state is the node's name."""

    name = NAME
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return pod.node_name

    def pre_filter(self, pod: Pod) -> PluginState[str] | None:
        return PluginState(pod.node_name) if pod.node_name else None

    def filter(self, state: str, node: NodeInfo) -> Status:
        return SUCCESS if node.name == state else _OTHER_NODE
