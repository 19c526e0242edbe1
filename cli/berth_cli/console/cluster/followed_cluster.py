"""A dump that is read again when it changes, or a cluster whose API server is watched.

The watches are those of the watcher, without what it writes: no lease, no table, no wake-up.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from berth.cluster.api_server.access import Access
from berth.cluster.api_server.client import ApiServer
from berth.cluster.api_server.kubeconfig import from_file
from berth.cluster.dump.dump_cluster import DumpCluster
from berth.cluster.field_projection import RequiredFields
from berth.cluster.kubernetes_cluster import KubernetesCluster
from berth.configuration.store import ActiveConfiguration
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.cluster import (
    Added,
    Cluster,
    Deleted,
    Failed,
    Interrupted,
    Listed,
    Modified,
    ResourceEvent,
)
from berth.nodecache.feed.observed_state import ObservedState
from berth.nodecache.snapshot_view import SnapshotView
from berth_cli.console.cluster.source import ClusterNotObserved, ClusterSource, ObservedCluster, SourceKind

LISTING = "the cluster is being listed"
REMEDY = "give the user of the kubeconfig the verbs list and watch"


class FollowedCluster(ClusterSource):
    """It watches from the beginning until it is closed."""

    def __init__(self, cluster: Cluster, kind: SourceKind, name: str, configured: ActiveConfiguration) -> None:
        self._cluster, self._kind, self._name, self._configured = cluster, kind, name, configured
        self._watch = cluster.watch({})
        self._objects = ObservedState({})
        self._changes: list[Change] = []
        self._view = SnapshotView()
        self._state = self._view.empty()
        self._problems: dict[str, str] = {}

    @property
    def kind(self) -> SourceKind:
        return self._kind

    @property
    def name(self) -> str:
        return self._name

    def observe(self, timeout: float) -> ObservedCluster | ClusterNotObserved:
        for received in self._watch.take(timeout):
            self._apply(received)
        observed_at = self._watch.observed_at
        problem = next(iter(self._problems.values()), "")
        if observed_at is None:
            return ClusterNotObserved(problem or LISTING)
        # Kept until they are applied: where that fails, the next look tries it again.
        self._changes += self._objects.take_changes()
        if self._changes:
            self._state, self._changes = self._view.applied(self._state, self._changes), []
        return ObservedCluster(self._state.snapshot, observed_at, self._configured, problem)

    def close(self) -> None:
        self._watch.stop()

    def _apply(self, received: ResourceEvent) -> None:
        resource = received.resource
        match received.event:
            case Interrupted(cause=cause):
                self._problems[resource] = cause
                return
            case Failed(cause=error):
                self._problems[resource] = f"the watch of {resource} ended: {error}; start the console again"
                return
            case Listed(objects=objects):
                self._objects.relist(resource, objects)
            case Added(object=found) | Modified(object=found):
                self._objects.put(resource, found)
            case Deleted(object=found):
                self._objects.remove(resource, found)
            case _:
                pass
        self._problems.pop(resource, None)


def followed_dump(path: Path, configured: ActiveConfiguration) -> ClusterSource:
    """The dump of this path. Reads nothing yet."""
    return FollowedCluster(DumpCluster(path), SourceKind.DUMP, str(path), configured)


def followed_kubeconfig(path: Path, configured: ActiveConfiguration, clock: Callable[[], float]) -> ClusterSource:
    """The cluster of this kubeconfig. clock: seconds since the epoch. Raises ClusterUnavailable."""
    api = ApiServer(Access(partial(from_file, path)), clock)
    cluster = KubernetesCluster(api, RequiredFields.of(configured.policy), clock, random.random, remedy=REMEDY)
    return FollowedCluster(cluster, SourceKind.CLUSTER, str(path), configured)
