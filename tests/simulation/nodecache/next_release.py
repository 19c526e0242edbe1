"""The cache table as a later release uses it, and as this release reads it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import orjson

from berth.lease.lock import Fence
from berth.nodecache.feed.head import (
    OLDEST_READER,
    SCHEMA_VERSION,
    Head,
    Observation,
    Pointer,
    SnapshotPointer,
    in_every_part,
)
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart

_MARK = "of another release/"


class ThisReleasesTable(CacheTable):
    """Reduces a head that this release cannot read to its outline, as DynamoDB's adapter does."""

    def __init__(self, table: CacheTable) -> None:
        self._table = table

    def head(self) -> Head | None:
        return self._seen(self._table.head())

    def head_eventually(self) -> Head | None:
        return self._seen(self._table.head_eventually())

    def put_counting_refusal(self, reason: str) -> None:
        self._table.put_counting_refusal(reason)

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        return [replace(item, data=self._decoded(item.data)) for item in self._table.log(uid, after, through)]

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        return [None if chunk is None else self._decoded(chunk) for chunk in self._table.chunks(snapshot, parts)]

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        return self._table.put_log(uid, replace(item, data=self._encoded(item.data)), nonce, expires_at)

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        self._table.put_chunks(snapshot_id, list(map(self._encoded, chunks)), expires_at, wait)

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        self._table.publish(self._published(pointer), fence, renew_time, nonce)

    def _seen(self, head: Head | None) -> Head | None:
        if head is None or head.pointer is None or not head.unreadable_reason:
            return head
        return replace(head, pointer=_outline(head.pointer))

    def _published(self, pointer: Pointer) -> Pointer:
        return pointer

    def _encoded(self, data: bytes) -> bytes:
        return data

    def _decoded(self, data: bytes) -> bytes:
        return data


def _outline(pointer: Pointer) -> Pointer:
    return replace(
        pointer,
        newest=in_every_part(pointer.published),
        snapshot=None,
        compacted_version=pointer.version,
        log_bytes=0,
        observation=Observation("", {}),
        heartbeat=0.0,
    )


class NextReleasesTable(ThisReleasesTable):
    """The table as the next release uses it. It reads both releases' data, and writes data with this oldest reader: if
    only the next release can read the data, other releases would take its keys for keys of other objects."""

    def __init__(self, table: CacheTable, oldest_reader: int) -> None:
        super().__init__(table)
        self._oldest_reader = oldest_reader

    def _seen(self, head: Head | None) -> Head | None:
        if head is None or head.pointer is None:
            return head
        return replace(head, pointer=replace(head.pointer, oldest_reader=OLDEST_READER))

    def _published(self, pointer: Pointer) -> Pointer:
        return replace(pointer, schema_version=SCHEMA_VERSION + 1, oldest_reader=self._oldest_reader)

    def _encoded(self, data: bytes) -> bytes:
        return data if self._oldest_reader <= SCHEMA_VERSION else _renamed(data, lambda key: _MARK + key)

    def _decoded(self, data: bytes) -> bytes:
        return decoded(data)


def decoded(data: bytes) -> bytes:
    """Return either release's data as this release would have written it, and malformed data unchanged."""
    return _renamed(data, lambda key: key.removeprefix(_MARK))


def _renamed(data: bytes, rename: Callable[[str], str]) -> bytes:
    try:
        rows = orjson.loads(zlib.decompress(data))
    except (zlib.error, orjson.JSONDecodeError):
        return data
    return zlib.compress(orjson.dumps([[kind, rename(key), found] for kind, key, found in rows]))
