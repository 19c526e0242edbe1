"""Contract of the port CacheTable of the log protocol, on every implementation. The tests use only the ports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import pytest

from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.lock import Fence, LeaseLock, LeaseSpec, Written
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import BEGINNING, Observation, Pointer, Position, PublishedVersion, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, StaleFence
from berth.scheduling.snapshot.parts import NODES_ONLY, SnapshotPart
from berth_cli.server.store.cache_table import InMemoryCacheTable, TrimmedCacheTable
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.builders.tables import create_cache_table
from tests.unit.ledger.nodes.ledger_tables import CONCURRENT, IN_MEMORY, MOTO, dynamodb_client

IN_MEMORY_TRIMMED = "in memory, trimmed"
_NUMBERS = count(1)
AT = 1_800_000_000.0
LATER = AT + 86_400
OBSERVATION = Observation("cluster-1", {"nodes": Position("41", AT, AT - 60), "pods": Position("42", AT - 1, AT - 60)})
NEWEST = {
    SnapshotPart.NODES: PublishedVersion(1, 5),
    SnapshotPart.OTHERS: BEGINNING,
    SnapshotPart.PODS: PublishedVersion(2, 5),
}
POINTER = Pointer(
    version=3,
    last_epoch=6,
    newest={**NEWEST, SnapshotPart.PODS: PublishedVersion(3, 6)},
    snapshot=SnapshotPointer("s1", 2, NEWEST, {SnapshotPart.PODS: 2}, size=700, written_at=AT),
    compacted_version=1,
    log_bytes=90,
    observation=OBSERVATION,
    heartbeat=AT,
    writer_version="0.1.0",
)


@dataclass(frozen=True)
class Store:
    """A table and the lock on its head item."""

    table: CacheTable
    lock: LeaseLock

    def acquire(self, holder: str, transitions: int = 0) -> Fence:
        spec = LeaseSpec(holder, 15, AT, AT, transitions)
        found = self.lock.get()
        written = self.lock.create(spec) if found is None else self.lock.update(found, spec)  # type: ignore[arg-type]
        assert isinstance(written, Written)
        lease = written.lease
        return Fence(holder, transitions, lease.uid, lease.resource_version)


@pytest.fixture(params=[IN_MEMORY, IN_MEMORY_TRIMMED, MOTO, *CONCURRENT])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    ids = (f"id-{number}" for number in _NUMBERS)
    if request.param in (IN_MEMORY, IN_MEMORY_TRIMMED):
        item = InMemoryItem()
        table = InMemoryCacheTable if request.param == IN_MEMORY else TrimmedCacheTable
        yield Store(table(item), InMemoryLeaseLock(item, lambda: next(ids)))
        return
    dynamodb = dynamodb_client(request.param, request)
    name = f"feed-contract-{next(_NUMBERS)}"
    create_cache_table(dynamodb, name)
    yield Store(DynamoDBCacheTable(dynamodb, name), DynamoDBLeaseLock(dynamodb, name))
    dynamodb.delete_table(TableName=name)


def test_new_table_is_without_a_head(store: Store) -> None:
    assert store.table.head() is None


def test_head_with_only_a_lease_is_read_without_a_pointer(store: Store) -> None:
    fence = store.acquire("a")
    head = store.table.head()
    assert head is not None
    assert head.pointer is None
    assert head.uid == fence.uid


@pytest.mark.parametrize(
    "pointer",
    [
        pytest.param(POINTER, id="with a snapshot"),
        pytest.param(replace(POINTER, snapshot=None, compacted_version=0), id="without a snapshot"),
        pytest.param(replace(POINTER, observation=Observation("", {})), id="before anything was observed"),
    ],
)
def test_reads_pointer_as_published(store: Store, pointer: Pointer) -> None:
    store.table.publish(pointer, store.acquire("a"), AT, "n1")
    head = store.table.head()
    assert head is not None
    assert head.pointer == pointer


def test_next_publication_uses_the_next_resource_version(store: Store) -> None:
    fence = store.acquire("a")
    store.table.publish(POINTER, fence, AT, "n1")
    following = replace(POINTER, version=4, newest={**NEWEST, SnapshotPart.PODS: PublishedVersion(4, 6)})
    store.table.publish(following, replace(fence, resource_version=fence.next_resource_version), AT, "n2")
    head = store.table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.version == 4


@pytest.mark.parametrize(
    "stale",
    [
        pytest.param(lambda fence: replace(fence, resource_version=fence.resource_version - 1), id="an old version"),
        pytest.param(lambda fence: replace(fence, holder_identity="b"), id="another holder"),
        pytest.param(lambda fence: replace(fence, lease_transitions=7), id="another epoch"),
        pytest.param(lambda fence: replace(fence, uid="other"), id="another item"),
    ],
)
def test_does_not_publish_under_another_fence(store: Store, stale: object) -> None:
    fence = store.acquire("a")
    with pytest.raises(StaleFence):
        store.table.publish(POINTER, stale(fence), AT, "n1")  # type: ignore[operator]
    head = store.table.head()
    assert head is not None
    assert head.pointer is None


def test_recognizes_a_publication_with_a_lost_response_by_the_nonce(store: Store) -> None:
    fence = store.acquire("a")
    store.table.publish(POINTER, fence, AT, "n1")
    store.table.publish(POINTER, fence, AT, "n1")
    with pytest.raises(StaleFence):
        store.table.publish(POINTER, fence, AT, "n2")


def test_takeover_keeps_published_data(store: Store) -> None:
    store.table.publish(POINTER, store.acquire("a"), AT, "n1")
    store.acquire("b", transitions=1)
    head = store.table.head()
    assert head is not None
    assert head.pointer == POINTER


def log_item(version: int, epoch: int, data: bytes, part: SnapshotPart = SnapshotPart.PODS) -> LogItem:
    return LogItem(part, version, epoch, PublishedVersion(version - 1, epoch), data)


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        pytest.param((1, "n1"), (2, "n2"), LogWrite.WRITTEN, id="a later epoch replaces an orphan"),
        pytest.param((2, "n1"), (1, "n2"), LogWrite.STALE_EPOCH, id="an earlier epoch replaces nothing"),
        pytest.param((1, "n1"), (1, "n2"), LogWrite.STALE_EPOCH, id="the same epoch replaces nothing"),
        pytest.param((1, "n1"), (1, "n1"), LogWrite.WRITTEN, id="its own earlier write is a success"),
    ],
)
def test_log_item_write_depends_on_epoch_and_nonce(
    store: Store, first: tuple[int, str], second: tuple[int, str], outcome: LogWrite
) -> None:
    for epoch, nonce in (first, second):
        written = store.table.put_log("uid", log_item(5, epoch, nonce.encode()), nonce, LATER)
    assert written is outcome
    epoch, nonce = second if outcome is LogWrite.WRITTEN else first
    assert store.table.log("uid", 4, {SnapshotPart.PODS: 5}) == [log_item(5, epoch, nonce.encode())]


def test_log_item_conflicts_only_with_items_of_its_own_part(store: Store) -> None:
    """An orphan of a deposed leader may have the same version as an item of another part."""
    orphan, published = log_item(5, 2, b"pods"), log_item(5, 1, b"nodes", SnapshotPart.NODES)
    assert store.table.put_log("uid", orphan, "n1", LATER) is LogWrite.WRITTEN
    assert store.table.put_log("uid", published, "n2", LATER) is LogWrite.WRITTEN
    assert store.table.log("uid", 4, {SnapshotPart.NODES: 5}) == [published]
    assert store.table.log("uid", 4, {SnapshotPart.PODS: 5}) == [orphan]


def test_log_items_belong_to_one_head_item(store: Store) -> None:
    """A recreated head begins with epoch 0 and must not conflict with the old head's items."""
    old, new = log_item(5, 7, b"old"), log_item(5, 0, b"new")
    through = {SnapshotPart.PODS: 5}
    store.table.put_log("uid-1", old, "n1", LATER)
    assert store.table.log("uid-2", 4, through) == []
    assert store.table.put_log("uid-2", new, "n2", LATER) is LogWrite.WRITTEN
    assert store.table.log("uid-2", 4, through) == [new]
    assert store.table.log("uid-1", 4, through) == [old]


def test_reads_log_items_between_two_versions_in_order(store: Store) -> None:
    for version in (12, 2, 10, 9, 11):
        store.table.put_log("uid", log_item(version, 1, b"x" * 300_000), f"n{version}", LATER)
    assert [item.version for item in store.table.log("uid", 2, {SnapshotPart.PODS: 11})] == [9, 10, 11]
    assert store.table.log("uid", 12, {SnapshotPart.PODS: 20}) == []


def test_reads_log_of_each_part_up_to_its_own_version(store: Store) -> None:
    parts = (SnapshotPart.NODES, SnapshotPart.PODS, SnapshotPart.NODES, SnapshotPart.OTHERS, SnapshotPart.PODS)
    items = [log_item(version, 1, b"data", part) for version, part in enumerate(parts, 5)]
    for item in items:
        store.table.put_log("uid", item, f"n{item.version}", LATER)
    found = store.table.log("uid", 4, {SnapshotPart.NODES: 7, SnapshotPart.PODS: 8})
    assert sorted(found, key=lambda item: item.version) == items[:3]
    assert store.table.log("uid", 4, {}) == []


def test_reads_log_item_as_written(store: Store) -> None:
    item = LogItem(SnapshotPart.OTHERS, 5_000_000_000, 70_000, PublishedVersion(3, 69_999), b"data")
    store.table.put_log("uid", item, "n1", LATER)
    assert store.table.log("uid", item.version - 1, {SnapshotPart.OTHERS: item.version}) == [item]


def test_returns_chunks_of_requested_parts_only(store: Store) -> None:
    store.table.put_chunks("s1", [b"a", b"b", b"c"], LATER, time.sleep)
    snapshot = SnapshotPointer("s1", 1, NEWEST, {SnapshotPart.NODES: 1, SnapshotPart.PODS: 2}, 3, AT)
    assert store.table.chunks(snapshot, NODES_ONLY) == [b"a"]
    assert store.table.chunks(snapshot, frozenset({SnapshotPart.PODS})) == [b"b", b"c"]
    assert store.table.chunks(snapshot, frozenset({SnapshotPart.OTHERS})) == []


def test_returns_chunks_in_order_with_none_in_place_of_a_missing_chunk(store: Store) -> None:
    store.table.put_chunks("s1", [b"a", b"b", b"c"], LATER, time.sleep)
    chunks = {SnapshotPart.NODES: 1, SnapshotPart.PODS: 3}
    assert store.table.chunks(SnapshotPointer("s1", 1, NEWEST, chunks, 3, AT)) == [b"a", b"b", b"c", None]
    assert store.table.chunks(SnapshotPointer("s2", 1, NEWEST, {SnapshotPart.PODS: 1}, 3, AT)) == [None]
