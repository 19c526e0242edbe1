"""OnePerTeam: no node runs two pods of one team."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.framework import NODES_AND_PODS, SUCCESS, ClusterEvent, FilterPlugin, Status, unschedulable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args as PluginArgs

NAME = "OnePerTeam"

_TAKEN = unschedulable(NAME, "node(s) had a pod of this team")


class OnePerTeam(FilterPlugin):
    """A rule about other pods, so bind judges it once more."""

    name = NAME
    reads = NODES_AND_PODS
    # A pod that comes onto a node makes no room for another one.
    events_to_register = frozenset(
        {ClusterEvent.NODE_UPDATE, ClusterEvent.ASSIGNED_POD_UPDATE, ClusterEvent.ASSIGNED_POD_DELETE}
    )

    class Args(PluginArgs):
        """`label`: the key of the label that names the team of a pod."""

        label: str = "team"

    def __init__(self, args: Args) -> None:
        self._label = args.label

    def shape(self, pod: Pod) -> Hashable:
        """The fields of the pod that the plugin reads."""
        return pod.labels.get(self._label)

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        team = pod.labels.get(self._label)
        is_taken = team is not None and any(other.labels.get(self._label) == team for other in node.pods)
        return _TAKEN if is_taken else SUCCESS
