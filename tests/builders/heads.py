"""What a watcher has published: heads, and whole snapshots in a table."""

from __future__ import annotations

from collections.abc import Iterable

from berth.nodecache.codec import pack
from berth.nodecache.head import SCHEMA_VERSION, Head, SnapshotPointer
from berth.nodecache.table import CacheTable
from berth.scheduling.objects import NodeInfo

AT = 1_700_000_000.0


def head(
    version: int = 1,
    snapshot_id: str = "first",
    chunks: int = 1,
    *,
    at: float = AT,
    schema_version: int = SCHEMA_VERSION,
) -> Head:
    """A head; all its times are `at`."""
    return Head(
        version=version,
        snapshot=SnapshotPointer(snapshot_id, chunks),
        snapshot_at=at,
        observed_at=at,
        heartbeat=at,
        resource_version="4711",
        writer_version="0.1.0",
        schema_version=schema_version,
    )


def publish(table: CacheTable, nodes: Iterable[NodeInfo], snapshot_id: str = "first") -> Head:
    """Publish these nodes after whatever the table holds, as a watcher would."""
    before = table.head()
    chunks = pack(nodes)
    table.put_chunks(snapshot_id, chunks, expires_at=AT + 86_400)
    following = head(1 if before is None else before.version + 1, snapshot_id, len(chunks))
    assert table.publish(following, None if before is None else before.version)
    return following
