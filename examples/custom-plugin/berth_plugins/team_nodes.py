"""TeamNodes: a team's nodes are for its pods alone, and its pods prefer them to nodes without a team."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.framework import (
    MAX_NODE_SCORE,
    NODES_ONLY,
    SUCCESS,
    FilterPlugin,
    ScorePlugin,
    Status,
    unresolvable,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args as PluginArgs

NAME = "TeamNodes"

# A reason is a constant: the scheduler counts equal ones, and a text that changes wakes the pod again and again.
_ANOTHER_TEAMS = unresolvable(NAME, "node(s) belonged to another team")


class TeamNodes(FilterPlugin, ScorePlugin):
    """Both rules look at one node and at one label of the pod, so a verdict serves all pods of a team."""

    name = NAME
    reads = NODES_ONLY

    class Args(PluginArgs):
        """`label`: the key of the label that names the team, on pods and on nodes."""

        label: str = "team"

    def __init__(self, args: Args) -> None:
        self._label = args.label

    def shape(self, pod: Pod) -> Hashable:
        """The fields of the pod that the plugin reads; pods of one shape share the verdicts."""
        return pod.labels.get(self._label)

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        owner = node.labels.get(self._label)
        return SUCCESS if owner in (None, pod.labels.get(self._label)) else _ANOTHER_TEAMS

    def score(self, pod: Pod, node: NodeInfo) -> int:
        return MAX_NODE_SCORE if self._label in node.labels else 0
