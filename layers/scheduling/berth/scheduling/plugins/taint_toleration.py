"""TaintToleration: rejects nodes with taints that the pod does not tolerate, or lowers their score."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.fields.taints import PREFER_NO_SCHEDULE, TolerationIndex
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

NAME = "TaintToleration"

# Given for an untolerated taint of effect NoSchedule or NoExecute. Since Kubernetes 1.36 it does not name the taint.
REASON = "node(s) had untolerated taint(s)"

_UNTOLERATED = unresolvable(NAME, REASON, reason_code=ReasonCode.UNTOLERATED_TAINT)


class TaintToleration(FilterPlugin[TolerationIndex], ScorePlugin[TolerationIndex]):
    """Filters and scores as in kube-scheduler. The state: the tolerations that filter or score checks."""

    name = NAME
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
        """Count the node's PreferNoSchedule taints that the pod does not tolerate: fewer is better."""
        if not node.taints:
            return 0
        return sum(taint.effect == PREFER_NO_SCHEDULE and not state.tolerates(taint) for taint in node.taints)

    def normalize(self, scores: list[int]) -> list[int]:
        return default_normalize_score(scores, reverse=True)
