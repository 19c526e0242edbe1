"""The part of kube-scheduler's scheduling framework that an extender needs: plugins, statuses, profiles.

Plugin authors import from here: `from berth.scheduling.framework import FilterPlugin, Status`.
"""

from berth.scheduling.framework.plugin import (
    MAX_NODE_SCORE,
    SUCCESS,
    ClusterEvent,
    ClusterEvents,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    Code,
    FilterPlugin,
    Plugin,
    PluginState,
    ScorePlugin,
    Status,
    error_status,
    unresolvable,
    unschedulable,
)
from berth.scheduling.snapshot.parts import NODES_AND_PODS, NODES_ONLY

__all__ = [
    "MAX_NODE_SCORE",
    "NODES_AND_PODS",
    "NODES_ONLY",
    "SUCCESS",
    "ClusterEvent",
    "ClusterEvents",
    "ClusterFilter",
    "ClusterFilterPlugin",
    "ClusterScore",
    "ClusterScorePlugin",
    "Code",
    "FilterPlugin",
    "Plugin",
    "PluginState",
    "ScorePlugin",
    "Status",
    "error_status",
    "unresolvable",
    "unschedulable",
]
