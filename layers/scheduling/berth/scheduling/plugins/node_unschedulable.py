"""NodeUnschedulable: rejects cordoned nodes, except for pods that tolerate the taint of a cordoned node."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.fields.taints import NO_SCHEDULE, Taint, TolerationIndex
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, PluginState, Status, shape_of, unresolvable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

NAME = "NodeUnschedulable"

# Given when `spec.unschedulable` is set.
REASON = "node(s) were unschedulable"

_UNSCHEDULABLE = unresolvable(NAME, REASON, reason_code=ReasonCode.NODE_UNSCHEDULABLE)
_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


class NodeUnschedulable(FilterPlugin[None]):
    """Filters as in kube-scheduler. TaintToleration checks the taint itself."""

    name = NAME
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return shape_of(pod.spec.tolerations, pod)

    def pre_filter(self, pod: Pod) -> PluginState[None] | None:
        return None if TolerationIndex(pod.spec.tolerations).tolerates(_TAINT) else PluginState(None)

    def filter(self, state: None, node: NodeInfo) -> Status:
        return _UNSCHEDULABLE if node.unschedulable else SUCCESS
