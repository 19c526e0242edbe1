"""The store of `berth serve` keeps what its tables contain, and nothing else."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item

from berth.nodecache.feed.dynamodb_head import pointer_update
from berth.nodecache.feed.head import Observation, Pointer, SnapshotPointer
from berth_cli.serve.embedded_dynamodb import ACCOUNT, CACHE_TABLE, LEDGER_TABLE, REGION, EmbeddedDynamoDB

WRITES = 50


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Of an embedded store whose tables are empty meanwhile: a process has one store."""
    session = boto3.DEFAULT_SESSION
    EmbeddedDynamoDB().install()
    for table in dynamodb_backends[ACCOUNT][REGION].tables.values():
        monkeypatch.setattr(table, "items", type(table.items)(dict))
    yield boto3.client("dynamodb")
    boto3.DEFAULT_SESSION = session


def items_in_memory() -> int:
    gc.collect()
    return sum(isinstance(found, Item) for found in gc.get_objects())


def entry(version: int) -> dict[str, Any]:
    return {"pk": {"S": "node#a"}, "sk": {"S": "ledger"}, "version": {"N": str(version)}}


def test_replaced_and_deleted_items_are_forgotten(client: Any) -> None:
    before = items_in_memory()
    for version in range(WRITES):
        client.put_item(TableName=LEDGER_TABLE, Item=entry(version))
        client.update_item(
            TableName=LEDGER_TABLE,
            Key={"pk": {"S": "node#a"}, "sk": {"S": "ledger"}},
            UpdateExpression="SET #v = :v",
            ExpressionAttributeNames={"#v": "version"},
            ExpressionAttributeValues={":v": {"N": str(version + 1)}},
        )
        client.get_item(TableName=LEDGER_TABLE, Key={"pk": {"S": f"node#{version}"}, "sk": {"S": "ledger"}})
    client.delete_item(TableName=LEDGER_TABLE, Key={"pk": {"S": "node#a"}, "sk": {"S": "ledger"}})
    assert items_in_memory() == before


def put(client: Any, pk: str, sk: int) -> None:
    client.put_item(TableName=CACHE_TABLE, Item={"pk": {"S": pk}, "sk": {"N": str(sk)}, "data": {"B": b"x"}})


def point_to(client: Any, snapshot: str, version: int, compacted: int) -> None:
    """What the feed's writer writes into the head."""
    pointer = Pointer(
        version=version,
        last_epoch=1,
        snapshot=SnapshotPointer(id=snapshot, version=version, epoch=1, chunks=1, size=1, written_at=1.0),
        compacted_version=compacted,
        log_bytes=0,
        observation=Observation("cluster", {}),
        heartbeat=1.0,
        writer_version="0.1.0",
    )
    update = pointer_update(pointer)
    client.update_item(
        TableName=CACHE_TABLE,
        Key={"pk": {"S": "head"}, "sk": {"N": "0"}},
        UpdateExpression=f"SET uid = :uid, {update.assignments}",
        ExpressionAttributeNames=update.names,
        ExpressionAttributeValues={":uid": {"S": "u"}, **update.values},
    )


def keys(client: Any) -> set[tuple[str, str]]:
    return {(item["pk"]["S"], item["sk"]["N"]) for item in client.scan(TableName=CACHE_TABLE)["Items"]}


def test_new_snapshot_removes_old_snapshot_and_its_log(client: Any) -> None:
    for version in range(1, 6):
        put(client, "log#u", version)
    put(client, "log#other", 9)
    put(client, "snapshot#one#0", 0)
    point_to(client, "one", version=2, compacted=0)
    assert ("log#u", "1") in keys(client)
    put(client, "snapshot#two#0", 0)
    assert ("snapshot#one#0", "0") in keys(client)
    point_to(client, "two", version=5, compacted=2)
    assert keys(client) == {("head", "0"), ("log#u", "3"), ("log#u", "4"), ("log#u", "5"), ("snapshot#two#0", "0")}


def test_snapshot_that_is_being_written_stays(client: Any) -> None:
    put(client, "snapshot#one#0", 0)
    point_to(client, "one", version=1, compacted=0)
    put(client, "snapshot#two#0", 0)
    point_to(client, "one", version=2, compacted=0)
    assert ("snapshot#two#0", "0") in keys(client)
