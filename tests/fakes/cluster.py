"""A cluster as the watcher sees it: a list that a test edits, and a scheduling queue that remembers being woken."""

from __future__ import annotations

from collections.abc import Iterable

from berth.nodecache.cluster import ClusterUnavailable, NodeList, Nodes, SchedulingQueue
from berth.scheduling.objects import NodeInfo


class ListedNodes(Nodes):
    """Lists what `nodes` holds at that moment; with an `outage` it cannot be read."""

    def __init__(self, nodes: Iterable[NodeInfo] = (), *, unreadable: int = 0) -> None:
        self.nodes = tuple(nodes)
        self.unreadable = unreadable
        self.outage = ""

    def list(self) -> NodeList:
        if self.outage:
            raise ClusterUnavailable(self.outage)
        return NodeList(self.nodes, "4711", self.unreadable)


class RecordingQueue(SchedulingQueue):
    """Counts how often it was woken; with an `outage` it cannot be."""

    def __init__(self) -> None:
        self.woken = 0
        self.outage = ""

    def wake(self) -> None:
        if self.outage:
            raise ClusterUnavailable(self.outage)
        self.woken += 1
