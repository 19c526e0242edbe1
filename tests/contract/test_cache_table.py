"""The port CacheTable, held by every implementation of it. The cases know the port only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from berth.nodecache.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.head import Head, SnapshotPointer
from berth.nodecache.in_memory_table import InMemoryCacheTable
from berth.nodecache.table import CacheTable
from tests.builders.heads import AT, head

_NUMBERS = count(1)
LATER = AT + 86_400


@pytest.fixture(params=["in memory", "DynamoDB"])
def table(request: pytest.FixtureRequest) -> Iterator[CacheTable]:
    """An empty table."""
    if request.param == "in memory":
        yield InMemoryCacheTable()
        return
    dynamodb = request.getfixturevalue("dynamodb")
    name = f"cache-table-contract-{next(_NUMBERS)}"
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
    )
    yield DynamoDBCacheTable(dynamodb, name)
    dynamodb.delete_table(TableName=name)


def test_there_is_no_head_before_anything_was_published(table: CacheTable) -> None:
    assert table.head() is None


@pytest.mark.parametrize(
    "published",
    [
        pytest.param(head(), id="as a watcher writes it"),
        pytest.param(replace(head(), resource_version=""), id="without a resourceVersion"),
        pytest.param(replace(head(), version=2**40, schema_version=7), id="large numbers"),
        pytest.param(replace(head(), snapshot=SnapshotPointer("ü/#?", 12)), id="an id of any characters"),
        pytest.param(replace(head(), observed_at=AT + 0.125, heartbeat=AT + 0.5), id="fractions of a second"),
    ],
)
def test_the_head_is_read_as_it_was_published(table: CacheTable, published: Head) -> None:
    assert table.publish(published, None) is True
    assert table.head() == published


def test_times_are_kept_to_the_millisecond(table: CacheTable) -> None:
    table.publish(replace(head(), observed_at=AT + 0.123_456), None)
    found = table.head()
    assert found is not None
    assert found.observed_at == pytest.approx(AT + 0.123, abs=0.001)


def test_of_two_first_publications_one_wins(table: CacheTable) -> None:
    assert table.publish(head(1, "winner"), None) is True
    assert table.publish(head(1, "loser"), None) is False
    assert table.head() == head(1, "winner")


def test_of_two_that_read_the_same_version_one_wins(table: CacheTable) -> None:
    table.publish(head(1, "first"), None)
    assert table.publish(head(2, "winner"), 1) is True
    assert table.publish(head(2, "loser"), 1) is False
    assert table.head() == head(2, "winner")


@pytest.mark.parametrize("expected", [0, 1, 3], ids=["never there", "past", "future"])
def test_a_version_that_is_not_current_publishes_nothing(table: CacheTable, expected: int) -> None:
    table.publish(head(1), None)
    table.publish(head(2, "current"), 1)
    assert table.publish(head(9, "stale"), expected) is False
    assert table.head() == head(2, "current")


def test_a_head_that_is_gone_is_not_replaced_but_published_anew(table: CacheTable) -> None:
    assert table.publish(head(6), 5) is False
    assert table.head() is None


def test_chunks_are_read_in_the_order_they_were_written(table: CacheTable) -> None:
    chunks = [bytes([number]) * 10 for number in range(25)]
    table.put_chunks("many", chunks, LATER)
    assert table.chunks(SnapshotPointer("many", 25)) == chunks


@pytest.mark.parametrize("chunk", [b"\x00\xff\n", b"x" * 350_000], ids=["any bytes", "the largest"])
def test_a_chunk_is_read_as_it_was_written(table: CacheTable, chunk: bytes) -> None:
    table.put_chunks("one", [chunk], LATER)
    assert table.chunks(SnapshotPointer("one", 1)) == [chunk]


def test_a_snapshot_that_is_not_there_is_all_none(table: CacheTable) -> None:
    assert table.chunks(SnapshotPointer("absent", 1)) == [None]
    assert table.chunks(SnapshotPointer("absent", 3)) == [None, None, None]


def test_a_chunk_that_is_not_there_is_none_in_its_place(table: CacheTable) -> None:
    table.put_chunks("short", [b"0", b"1"], LATER)
    assert table.chunks(SnapshotPointer("short", 3)) == [b"0", b"1", None]


def test_snapshots_do_not_mix(table: CacheTable) -> None:
    table.put_chunks("a", [b"a0", b"a1"], LATER)
    table.put_chunks("b", [b"b0"], LATER)
    assert table.chunks(SnapshotPointer("a", 2)) == [b"a0", b"a1"]
    assert table.chunks(SnapshotPointer("b", 2)) == [b"b0", None]


def test_chunks_are_not_seen_through_the_head_before_it_is_published(table: CacheTable) -> None:
    table.publish(head(1, "old"), None)
    table.put_chunks("new", [b"new"], LATER)
    assert table.head() == head(1, "old")


def test_what_was_read_does_not_change_afterwards(table: CacheTable) -> None:
    table.publish(head(1, "old"), None)
    before = table.head()
    written = [b"0"]
    table.put_chunks("old", written, LATER)
    written[0] = b"changed by the caller"
    chunks = table.chunks(SnapshotPointer("old", 1))
    chunks.append(b"appended by the caller")
    table.publish(head(2, "new"), 1)
    assert before == head(1, "old")
    assert table.chunks(SnapshotPointer("old", 1)) == [b"0"]
