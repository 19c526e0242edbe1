"""PreferZone: nodes of one zone first, and the others when it is full."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.framework import MAX_NODE_SCORE, NODES_ONLY, ScorePlugin
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args as PluginArgs

ZONE = "topology.kubernetes.io/zone"


class PreferZone(ScorePlugin):
    """A preference: it scores and rejects no node."""

    name = "PreferZone"
    reads = NODES_ONLY

    class Args(PluginArgs):
        """`zone`: the value of the zone's label on the preferred nodes."""

        zone: str

    def __init__(self, args: Args) -> None:
        self._zone = args.zone

    def shape(self, pod: Pod) -> Hashable:
        """Reads nothing of the pod, so all pods share their scores."""
        return None

    def score(self, pod: Pod, node: NodeInfo) -> int:
        return MAX_NODE_SCORE if node.labels.get(ZONE) == self._zone else 0
