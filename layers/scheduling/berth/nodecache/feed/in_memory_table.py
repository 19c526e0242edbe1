"""The cache table in memory, for tests, benchmarks and simulation."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from berth.lease.in_memory_lock import ConditionFailed, InMemoryItem, publish
from berth.lease.record import Fence
from berth.nodecache.feed.head import Head, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, Deposed, LogItem, LogWrite

_POINTER = "pointer"


class InMemoryCacheTable(CacheTable):
    """`item` is the head, which a lease lock may share. Every write is one step."""

    def __init__(self, item: InMemoryItem) -> None:
        self._item = item
        self._log: dict[int, tuple[LogItem, str]] = {}
        self._chunks: dict[tuple[str, int], bytes] = {}
        self._lock = Lock()

    def head(self) -> Head | None:
        item = self._item.get()
        if item is None:
            return None
        pointer = item.get(_POINTER)
        return Head(str(item.get("uid", "")), pointer if isinstance(pointer, Pointer) else None)

    def log(self, after: int, through: int) -> list[LogItem]:
        with self._lock:
            return [self._log[version][0] for version in range(after + 1, through + 1) if version in self._log]

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        with self._lock:
            return [self._chunks.get((snapshot.id, index)) for index in range(snapshot.chunks)]

    def put_log(self, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        with self._lock:
            found = self._log.get(item.version)
            if found is not None and found[0].epoch >= item.epoch:
                return LogWrite.WRITTEN if found[1] == nonce else LogWrite.OUTRANKED
            self._log[item.version] = (item, nonce)
            return LogWrite.WRITTEN

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        with self._lock:
            self._chunks.update({(snapshot_id, index): chunk for index, chunk in enumerate(chunks)})

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        try:
            publish(self._item, fence, {_POINTER: pointer}, renew_time=renew_time, nonce=nonce)
        except ConditionFailed as failed:
            if failed.item is None or failed.item.get("nonce") != nonce:
                raise Deposed from failed
