"""The node cache of a stack, or that of `berth serve` in this process: what the verbs decide on."""

from __future__ import annotations

from threading import Event

from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.snapshot_view import CachedCluster
from berth_cli.console.cluster.source import ClusterNotObserved, ClusterSource, ObservedCluster, SourceKind

LOOK_SECONDS = 1.0
"""Each costs a read unit of a stack's table."""


class NodeCacheSource(ClusterSource):
    """Each look reads the head consistently, one read unit, and what was published since the last one."""

    def __init__(
        self,
        name: str,
        table: CacheTable,
        reader: NodeCacheReader[CachedCluster],
        configurations: Configurations,
        closed: Event,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`closed`: set by `close`, which so ends the wait for the next look. `look_seconds`: from one look to the
        next."""
        self._name, self._table, self._reader, self._configurations = name, table, reader, configurations
        self._closed, self._look_seconds = closed, look_seconds
        self._last: ObservedCluster | None = None

    @property
    def kind(self) -> SourceKind:
        return SourceKind.NODE_CACHE

    @property
    def name(self) -> str:
        return self._name

    @property
    def last(self) -> ObservedCluster | None:
        """What was read last, without a look. For any thread."""
        return self._last

    def observe(self, timeout: float) -> ObservedCluster | ClusterNotObserved:
        seconds = min(timeout, self._look_seconds)
        if self._last is not None:
            self._closed.wait(seconds)
        try:
            self._last = self._read()
        except (TableUnavailable, ConfigurationInvalid, NothingPublished) as error:
            if self._last is None:
                self._closed.wait(seconds)
                return ClusterNotObserved(str(error))
            return ObservedCluster(self._last.snapshot, self._last.observed_at, self._last.configured, str(error))
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
        return ObservedCluster(snapshot, observed_at, configured, configured.fallback)
