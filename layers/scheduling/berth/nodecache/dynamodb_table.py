"""The cache table on DynamoDB: partition key `pk` (S), sort key `sk` (N), TTL `expiresAt`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.nodecache.head import Head, SnapshotPointer
from berth.nodecache.table import CacheTable, TableUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

_HEAD_KEY: dict[str, UniversalAttributeValueTypeDef] = {"pk": {"S": "head"}, "sk": {"N": "0"}}
_CONDITION_FAILED = "ConditionalCheckFailedException"
_PARALLEL_READS = 8

# What each error means for an operator; anything else is told in DynamoDB's own words.
_REMEDIES = {
    "ResourceNotFoundException": "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE to its table",
    "AccessDeniedException": "the function's role lacks a permission on the table",
    "ProvisionedThroughputExceededException": "the table is throttled",
    "ThrottlingException": "the table is throttled",
    "UnrecognizedClientException": "the AWS credentials are not valid",
    "ExpiredTokenException": "the AWS credentials have expired",
}


class DynamoDBCacheTable(CacheTable):
    """Without state of its own; the client may be shared between threads."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name

    def head(self) -> Head | None:
        try:
            answer = self._client.get_item(TableName=self._table, Key=_HEAD_KEY, ConsistentRead=True)
        except (ClientError, BotoCoreError) as error:
            raise self._unavailable(error) from error
        item = answer.get("Item")
        if item is None:
            return None
        try:
            return _read_head(item)
        except (KeyError, ValueError) as error:
            raise TableUnavailable(
                f"node cache table {self._table}: the head item is malformed; "
                "delete it and the next watcher publishes a new one"
            ) from error

    def publish(self, head: Head, expected_version: int | None) -> bool:
        item = _HEAD_KEY | _write_head(head)
        try:
            if expected_version is None:
                self._client.put_item(TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(pk)")
            else:
                self._client.put_item(
                    TableName=self._table,
                    Item=item,
                    ConditionExpression="#version = :expected",
                    ExpressionAttributeNames={"#version": "version"},
                    ExpressionAttributeValues={":expected": {"N": str(expected_version)}},
                )
        except ClientError as error:
            if error.response["Error"]["Code"] == _CONDITION_FAILED:
                return False
            raise self._unavailable(error) from error
        except BotoCoreError as error:
            raise self._unavailable(error) from error
        return True

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        for index, chunk in enumerate(chunks):
            item = _chunk_key(snapshot_id, index) | {"data": {"B": chunk}, "expiresAt": {"N": str(int(expires_at))}}
            try:
                self._client.put_item(TableName=self._table, Item=item)
            except (ClientError, BotoCoreError) as error:
                raise self._unavailable(error) from error

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        read = partial(self._chunk, snapshot.id)
        if snapshot.chunks == 1:
            return [read(0)]
        with ThreadPoolExecutor(min(snapshot.chunks, _PARALLEL_READS)) as pool:
            return list(pool.map(read, range(snapshot.chunks)))

    def _chunk(self, snapshot_id: str, index: int) -> bytes | None:
        try:
            answer = self._client.get_item(TableName=self._table, Key=_chunk_key(snapshot_id, index))
        except (ClientError, BotoCoreError) as error:
            raise self._unavailable(error) from error
        item = answer.get("Item")
        if item is None:
            return None
        if "B" not in item.get("data", {}):
            raise TableUnavailable(
                f"node cache table {self._table}: a chunk is malformed; the next snapshot replaces it"
            )
        return item["data"]["B"]

    def _unavailable(self, error: ClientError | BotoCoreError) -> TableUnavailable:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        return TableUnavailable(f"node cache table {self._table}: {_REMEDIES.get(code, str(error))} ({code})")


def _chunk_key(snapshot_id: str, index: int) -> dict[str, UniversalAttributeValueTypeDef]:
    # Each chunk under a partition of its own, so that they can be read in parallel.
    return {"pk": {"S": f"snapshot#{snapshot_id}#{index}"}, "sk": {"N": "0"}}


def _write_head(head: Head) -> dict[str, UniversalAttributeValueTypeDef]:
    return {
        "version": {"N": str(head.version)},
        "snapshotId": {"S": head.snapshot.id},
        "snapshotChunks": {"N": str(head.snapshot.chunks)},
        "snapshotAt": {"N": _seconds(head.snapshot_at)},
        "observedAt": {"N": _seconds(head.observed_at)},
        "heartbeat": {"N": _seconds(head.heartbeat)},
        "kubernetesResourceVersion": {"S": head.resource_version},
        "writerVersion": {"S": head.writer_version},
        "schemaVersion": {"N": str(head.schema_version)},
    }


def _read_head(item: dict[str, AttributeValueTypeDef]) -> Head:
    return Head(
        version=int(item["version"]["N"]),
        snapshot=SnapshotPointer(item["snapshotId"]["S"], int(item["snapshotChunks"]["N"])),
        snapshot_at=float(item["snapshotAt"]["N"]),
        observed_at=float(item["observedAt"]["N"]),
        heartbeat=float(item["heartbeat"]["N"]),
        resource_version=item["kubernetesResourceVersion"]["S"],
        writer_version=item["writerVersion"]["S"],
        schema_version=int(item["schemaVersion"]["N"]),
    )


def _seconds(time: float) -> str:
    return str(Decimal(time).quantize(Decimal("0.001")))
