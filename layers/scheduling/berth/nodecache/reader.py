"""The reader in every warm environment: one consistent read of the head a call, the snapshot only when it is new.

Guarantees: a call decides on what was published when it read the head, or later. A snapshot is applied whole or not at
all. Not guaranteed: that the data is fresh; the head's `observed_at` says how old it is.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from berth.extender.ports import CacheUnavailable, Snapshots
from berth.nodecache.codec import CorruptChunk, unpack
from berth.nodecache.head import SCHEMA_VERSION, Head
from berth.nodecache.table import CacheTable, TableUnavailable
from berth.scheduling.snapshot import Snapshot

NOTHING_PUBLISHED = "the node cache is empty: no watcher has published yet; is its schedule enabled?"
SNAPSHOT_INCOMPLETE = "the node cache's snapshot is incomplete; the next watcher replaces it"
FUTURE_SCHEMA = "the node cache was written by a newer release; update this function"

ATTEMPTS = 5
RETRY_SECONDS = 0.05
"""Chunks are read eventually consistent: one just written may be absent for some tens of milliseconds."""


class NodeCacheReader(Snapshots):
    """Safe to share between threads; one of them loads, the others wait for it."""

    def __init__(self, table: CacheTable, sleep: Callable[[float], None]) -> None:
        self._table = table
        self._sleep = sleep
        self._loading = Lock()
        self._loaded: tuple[str, Snapshot] | None = None

    def current(self) -> Snapshot | CacheUnavailable:
        try:
            head = self._table.head()
            if head is None:
                return CacheUnavailable(NOTHING_PUBLISHED)
            return self.at(head)
        except TableUnavailable as error:
            return CacheUnavailable(str(error))

    def at(self, head: Head) -> Snapshot | CacheUnavailable:
        """The snapshot this head points to, or a later one. Raises TableUnavailable."""
        if head.schema_version > SCHEMA_VERSION:
            return CacheUnavailable(FUTURE_SCHEMA)
        loaded = self._loaded
        if loaded is not None and loaded[0] == head.snapshot.id:
            return loaded[1]
        with self._loading:
            return self._load(head)

    def _load(self, head: Head) -> Snapshot | CacheUnavailable:
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(RETRY_SECONDS * attempt)
            # Read again under the lock: while this thread waited, another may have loaded a later snapshot, and
            # the one this head points to may be gone by now. So no reader goes back in time.
            newest = self._table.head() or head
            if newest.schema_version > SCHEMA_VERSION:
                return CacheUnavailable(FUTURE_SCHEMA)
            if self._loaded is not None and self._loaded[0] == newest.snapshot.id:
                return self._loaded[1]
            chunks = [chunk for chunk in self._table.chunks(newest.snapshot) if chunk is not None]
            if len(chunks) == newest.snapshot.chunks:
                return self._unpacked(newest.snapshot.id, chunks)
        return CacheUnavailable(SNAPSHOT_INCOMPLETE)

    def _unpacked(self, snapshot_id: str, chunks: list[bytes]) -> Snapshot | CacheUnavailable:
        try:
            snapshot = unpack(chunks).sharing(self._loaded[1] if self._loaded else None)
        except CorruptChunk as error:
            return CacheUnavailable(f"{error}; the next watcher replaces it")
        self._loaded = (snapshot_id, snapshot)
        return snapshot
