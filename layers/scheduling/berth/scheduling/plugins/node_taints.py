"""TaintToleration, NodeUnschedulable and NodeReady: they reject a node unless the pod tolerates a taint. A profile may
have only some of these plugins, so each has its own `reasons`."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.fields.taints import NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, TolerationIndex
from berth.scheduling.framework.plugin import (
    SUCCESS,
    FilterPlugin,
    PluginState,
    ScorePlugin,
    Status,
    shape_of,
    unresolvable,
)
from berth.scheduling.framework.score_scaling import default_normalize_score
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

# The reason if a NoSchedule or NoExecute taint is not tolerated. Since Kubernetes 1.36 it does not name the taint.
REASON_UNTOLERATED = "node(s) had untolerated taint(s)"

_UNTOLERATED = unresolvable("TaintToleration", REASON_UNTOLERATED, reason_code=ReasonCode.UNTOLERATED_TAINT)


class TaintToleration(FilterPlugin[TolerationIndex], ScorePlugin[TolerationIndex]):
    """Filters and scores as in kube-scheduler: a taint that the pod does not tolerate rejects a node or lowers its
    score. The state: the tolerations that filter or score checks."""

    name = "TaintToleration"
    reasons = frozenset({REASON_UNTOLERATED})
    reads = NODES_ONLY
    normalized = True

    def shape(self, pod: Pod) -> Hashable:
        return shape_of(pod.spec.tolerations, pod)

    def pre_filter(self, pod: Pod) -> PluginState[TolerationIndex]:
        return PluginState(TolerationIndex(pod.spec.tolerations))

    def filter(self, state: TolerationIndex, node: NodeInfo) -> Status:
        return _UNTOLERATED if node.taints and state.repelled_by(node.taints) else SUCCESS

    def pre_score(self, pod: Pod) -> PluginState[TolerationIndex]:
        """Keep only tolerations of the effect PreferNoSchedule; an empty effect matches any effect."""
        return PluginState(
            TolerationIndex([each for each in pod.spec.tolerations if each.effect in ("", PREFER_NO_SCHEDULE)]),
        )

    def score(self, state: TolerationIndex, node: NodeInfo) -> int:
        """Count the node's PreferNoSchedule taints that the pod does not tolerate. A lower number is better."""
        if not node.taints:
            return 0
        return sum(taint.effect == PREFER_NO_SCHEDULE and not state.tolerates(taint) for taint in node.taints)

    def normalize(self, scores: list[int]) -> list[int]:
        return default_normalize_score(scores, reverse=True)


# The reason if `spec.unschedulable` is set.
REASON_UNSCHEDULABLE = "node(s) were unschedulable"

_UNSCHEDULABLE = unresolvable("NodeUnschedulable", REASON_UNSCHEDULABLE, reason_code=ReasonCode.NODE_UNSCHEDULABLE)
_UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


class NodeUnschedulable(FilterPlugin[None]):
    """Rejects cordoned nodes as in kube-scheduler, except for pods that tolerate the taint of a cordoned node.
    TaintToleration checks the taint itself."""

    name = "NodeUnschedulable"
    reasons = frozenset({REASON_UNSCHEDULABLE})
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return shape_of(pod.spec.tolerations, pod)

    def pre_filter(self, pod: Pod) -> PluginState[None] | None:
        return None if TolerationIndex(pod.spec.tolerations).tolerates(_UNSCHEDULABLE_TAINT) else PluginState(None)

    def filter(self, state: None, node: NodeInfo) -> Status:
        return _UNSCHEDULABLE if node.unschedulable else SUCCESS


# The reason if the Ready condition is False or Unknown. Evicting pods does not make a node ready.
REASON_NOT_READY = "node(s) were not ready"
# The reason if the node's phase is Pending or Terminated.
REASON_NOT_RUNNING = "node(s) were not running"

_NOT_READY = unresolvable("NodeReady", REASON_NOT_READY, reason_code=ReasonCode.NODE_NOT_READY)
_NOT_RUNNING = unresolvable("NodeReady", REASON_NOT_RUNNING, reason_code=ReasonCode.NODE_NOT_RUNNING)
_NOT_READY_TAINTS = {
    "False": Taint("node.kubernetes.io/not-ready", "", NO_SCHEDULE),
    "Unknown": Taint("node.kubernetes.io/unreachable", "", NO_SCHEDULE),
}
_NOT_RUNNING_PHASES = ("Pending", "Terminated")


class NodeReady(FilterPlugin[frozenset[str]]):
    """Rejects nodes that are not running, or whose Ready condition is False or Unknown. This plugin of Berth acts
    before the node lifecycle controller has added its taint, and accepts the same pods: those that tolerate the taint.

    The state: the values of the Ready condition that the pod tolerates. A node without the condition passes.
    """

    name = "NodeReady"
    reasons = frozenset({REASON_NOT_READY, REASON_NOT_RUNNING})
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return shape_of(pod.spec.tolerations, pod)

    def pre_filter(self, pod: Pod) -> PluginState[frozenset[str]]:
        tolerations = TolerationIndex(pod.spec.tolerations)
        accepted = {value for value, taint in _NOT_READY_TAINTS.items() if tolerations.tolerates(taint)}
        return PluginState(frozenset({"True", "", *accepted}))

    def filter(self, state: frozenset[str], node: NodeInfo) -> Status:
        if node.ready not in state:
            return _NOT_READY
        return _NOT_RUNNING if node.phase in _NOT_RUNNING_PHASES else SUCCESS
