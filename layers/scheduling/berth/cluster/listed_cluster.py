"""A cluster that is listed anew by every watcher, for a watcher that does not stay to watch (mode `periodic`)."""

from __future__ import annotations

from collections.abc import Mapping

from berth.nodecache.feed.cluster import Cluster, ClusterWatch
from berth.nodecache.feed.progress import Position


class ListedCluster(Cluster):
    """Where a predecessor left off does not matter: a watch that is resumed does not say when it has caught up."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def uid(self) -> str:
        return self._cluster.uid()

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        return self._cluster.watch({})
