"""NodeReady: rejects nodes that are not running, or whose Ready condition is False or Unknown.

A plugin of Berth. In a live cluster the node lifecycle controller adds a taint to such nodes. This plugin checks the
node's condition before the taint exists, and accepts the same pods: pods that tolerate the taint.
"""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.fields.taints import NO_SCHEDULE, Taint, TolerationIndex
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, PluginState, Status, shape_of, unresolvable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

NAME = "NodeReady"

# Given when the Ready condition is False or Unknown. Evicting pods does not make a node ready.
REASON_NOT_READY = "node(s) were not ready"
# Given when the node's phase is Pending or Terminated.
REASON_NOT_RUNNING = "node(s) were not running"

_NOT_READY = unresolvable(NAME, REASON_NOT_READY, reason_code=ReasonCode.NODE_NOT_READY)
_NOT_RUNNING = unresolvable(NAME, REASON_NOT_RUNNING, reason_code=ReasonCode.NODE_NOT_RUNNING)
_TAINTS = {
    "False": Taint("node.kubernetes.io/not-ready", "", NO_SCHEDULE),
    "Unknown": Taint("node.kubernetes.io/unreachable", "", NO_SCHEDULE),
}
_NOT_RUNNING_PHASES = ("Pending", "Terminated")


class NodeReady(FilterPlugin[frozenset[str]]):
    """The state: the values of the Ready condition that the pod tolerates. A node without the condition passes."""

    name = NAME
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return shape_of(pod.spec.tolerations, pod)

    def pre_filter(self, pod: Pod) -> PluginState[frozenset[str]]:
        tolerations = TolerationIndex(pod.spec.tolerations)
        accepted = {value for value, taint in _TAINTS.items() if tolerations.tolerates(taint)}
        return PluginState(frozenset({"True", "", *accepted}))

    def filter(self, state: frozenset[str], node: NodeInfo) -> Status:
        if node.ready not in state:
            return _NOT_READY
        return _NOT_RUNNING if node.phase in _NOT_RUNNING_PHASES else SUCCESS
