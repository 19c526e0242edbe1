"""The cache table in memory, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from berth.nodecache.head import Head, SnapshotPointer
from berth.nodecache.table import CacheTable


class InMemoryCacheTable(CacheTable):
    """Every write is one step under a lock."""

    def __init__(self) -> None:
        self._head: Head | None = None
        self._chunks: dict[tuple[str, int], bytes] = {}
        self._lock = Lock()

    def head(self) -> Head | None:
        return self._head

    def publish(self, head: Head, expected_version: int | None) -> bool:
        with self._lock:
            version = None if self._head is None else self._head.version
            if version != expected_version:
                return False
            self._head = head
            return True

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        with self._lock:
            self._chunks.update({(snapshot_id, index): chunk for index, chunk in enumerate(chunks)})

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        with self._lock:
            return [self._chunks.get((snapshot.id, index)) for index in range(snapshot.chunks)]
