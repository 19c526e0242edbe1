"""The sources of the console's cluster: a dump, a watched API server, or a node cache. The console never writes to
them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event

from berth.cluster.api_server.access import Access
from berth.cluster.api_server.client import ApiServer
from berth.cluster.api_server.kubeconfig import from_file
from berth.cluster.dump_cluster import DumpCluster
from berth.cluster.field_projection import RequiredFields
from berth.cluster.kubernetes_cluster import KubernetesCluster
from berth.cluster.watch.resources import PODS
from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid, Configurations
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
from berth.nodecache.feed.leader import ObservedState
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects.projection import is_placed
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.cached_objects import ReplacementsView

REPLACEMENTS = ReplacementsView()
LISTING = "the cluster is being listed"
REMEDY = "give the user of the kubeconfig the verbs list and watch"

LOOK_SECONDS = 1.0
"""The interval of reads in seconds: each read of a node cache costs one read unit of the stack's table."""


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """The cluster at one moment.

    observed_at: the time until which it contains all changes, in seconds since the epoch. configured: the configuration
    in force. problem: why the cluster cannot be updated; empty if it can. pending: the pods without a node by namespace
    and name, with the fields that only explanations read; empty for a node cache. replacements: see ReplacementsView.
    """

    snapshot: Snapshot
    observed_at: float
    configured: ActiveConfiguration
    problem: str = ""
    pending: Mapping[str, Object] = field(default_factory=dict)
    replacements: Mapping[tuple[str, str], Object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotRead:
    """A result that cannot be read now. reason: text for users."""

    reason: str


class ClusterSource(ABC):
    """Reads the cluster, in one thread."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the file, the stack or the server for users."""

    @abstractmethod
    def observe(self, timeout: float) -> ObservedCluster | NotRead:
        """Wait up to `timeout` seconds for the first change, and return the current cluster. If it did not change, its
        snapshot is the same object as before."""

    @abstractmethod
    def close(self) -> None:
        """Stop the background threads."""


class FollowedCluster(ClusterSource):
    """A dump that is reread when it changes, or a cluster that is watched in the same way as by `berth watch`."""

    def __init__(self, cluster: Cluster, name: str, configured: ActiveConfiguration, dump: Path | None = None) -> None:
        """Follow this cluster. dump: the file, if the cluster is a dump: its data is as old as the file, even if it was
        read just now."""
        self._name, self._configured, self._dump = name, configured, dump
        self._watch = cluster.watch({})
        self._objects = ObservedState({})
        self._changes: list[Change] = []
        self._view = SnapshotView()
        self._state = self._view.empty()
        self._pending: Mapping[str, Object] = {}
        self._replacements = REPLACEMENTS.empty()
        self._problems: dict[str, str] = {}

    @property
    def name(self) -> str:
        return self._name

    def observe(self, timeout: float) -> ObservedCluster | NotRead:
        for received in self._watch.take(timeout):
            self._apply(received)
        observed_at = self._watch.observed_at
        problem = next(iter(self._problems.values()), "")
        if observed_at is None:
            return NotRead(problem or LISTING)
        # Keep the changes until they are applied: if that fails, the next call tries again.
        self._changes += self._objects.take_changes()
        if self._changes:
            pods = {key: obj for resource, key, obj in self._changes if resource == PODS.key}
            waiting = {key: dict(obj) for key, obj in pods.items() if obj is not None}
            kept = {key: obj for key, obj in self._pending.items() if key not in pods}
            self._pending = kept | {key: obj for key, obj in waiting.items() if not is_placed(obj)}
            self._replacements = REPLACEMENTS.applied(self._replacements, self._changes)
            self._state, self._changes = self._view.applied(self._state, self._changes), []
        if self._dump is not None:
            with suppress(OSError):  # while the file is replaced
                observed_at = self._dump.stat().st_mtime
        state = self._state.snapshot
        return ObservedCluster(state, observed_at, self._configured, problem, self._pending, self._replacements)

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
    """Follow the dump at this path. Does not read it yet."""
    return FollowedCluster(DumpCluster(path), str(path), configured, path)


def followed_kubeconfig(path: Path, configured: ActiveConfiguration, clock: Callable[[], float]) -> ClusterSource:
    """Follow the cluster of this kubeconfig. clock: returns the seconds since the epoch. Raises ClusterUnavailable."""
    api = ApiServer(Access(partial(from_file, path)), clock)
    required = replace(RequiredFields.of(configured.policy), explanations=True, replacements=True)
    cluster = KubernetesCluster(api, required, clock, random.random, remedy=REMEDY)
    return FollowedCluster(cluster, str(path), configured)


class NodeCacheSource(ClusterSource):
    """The node cache that the verbs use: of a stack, or of `berth serve` in this process. Each call reads the head,
    which costs one read unit, and the changes that were published since the previous call."""

    def __init__(
        self,
        name: str,
        table: CacheTable,
        reader: NodeCacheReader[CachedCluster],
        configurations: Configurations,
        closed: Event,
        look_seconds: float = LOOK_SECONDS,
        replacements: NodeCacheReader[Mapping[tuple[str, str], Object]] | None = None,
    ) -> None:
        """Prepare the reads. `closed`: ends the wait for the next read. `replacements`: None if they are not needed."""
        self._name, self._table, self._reader, self._configurations = name, table, reader, configurations
        self._closed, self._look_seconds, self._replacements = closed, look_seconds, replacements
        self._last: ObservedCluster | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def last(self) -> ObservedCluster | None:
        """The cluster as of the last read. Thread-safe."""
        return self._last

    def observe(self, timeout: float) -> ObservedCluster | NotRead:
        seconds = min(timeout, self._look_seconds)
        if self._last is not None:
            self._closed.wait(seconds)
        try:
            self._last = self._read()
        except (TableUnavailable, ConfigurationInvalid, NothingPublished) as error:
            if self._last is None:
                self._closed.wait(seconds)
                return NotRead(str(error))
            return replace(self._last, problem=str(error))
        return self._last

    def close(self) -> None:
        self._closed.set()

    def _read(self) -> ObservedCluster:
        head = self._table.head()
        if head is not None and head.unreadable_reason:
            raise TableUnavailable(head.unreadable_reason)
        snapshot = self._reader.at(head).snapshot
        configured = self._configurations.at("" if head is None else head.configuration_hash)
        observed_at = 0.0 if head is None or head.pointer is None else head.pointer.observation.observed_at
        kept = REPLACEMENTS.empty() if self._replacements is None else self._replacements.at(head)
        return ObservedCluster(snapshot, observed_at, configured, configured.fallback, replacements=kept)
