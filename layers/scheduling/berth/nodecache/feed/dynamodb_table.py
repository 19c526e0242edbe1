"""The cache table on DynamoDB: partition key `pk` (S), sort key `sk` (N), TTL `expiresAt`.

| item | pk | sk |
|---|---|---|
| head: lease and pointer | head | 0 |
| log item | log | its version |
| snapshot chunk | snapshot#id#index | 0 |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from berth.lease.dynamodb_item import HEAD_KEY, renewal
from berth.lease.record import Fence
from berth.nodecache.feed.dynamodb_head import pointer_update, read_head
from berth.nodecache.feed.head import Head, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, Deposed, LogItem, LogWrite, TableUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

    Item = Mapping[str, AttributeValueTypeDef]

_CONDITION_FAILED = "ConditionalCheckFailedException"
_PARALLEL = 8
_LOG = "log"

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
        with self._told():
            answer = self._client.get_item(TableName=self._table, Key=HEAD_KEY, ConsistentRead=True)
        item = answer.get("Item")
        try:
            return None if item is None else read_head(item)
        except (KeyError, ValueError) as error:
            raise TableUnavailable(
                f"node cache table {self._table}: the head item is malformed; "
                "delete it and the next watcher publishes a new one"
            ) from error

    def log(self, after: int, through: int) -> list[LogItem]:
        items: list[LogItem] = []
        start: dict[str, UniversalAttributeValueTypeDef] | None = None
        while True:
            with self._told():
                page = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :log AND sk BETWEEN :first AND :last",
                    ExpressionAttributeValues={
                        ":log": {"S": _LOG},
                        ":first": {"N": str(after + 1)},
                        ":last": {"N": str(through)},
                    },
                    ConsistentRead=True,
                    **({"ExclusiveStartKey": start} if start else {}),  # type: ignore[arg-type]
                )
            items += map(self._log_item, page["Items"])
            start = page.get("LastEvaluatedKey")  # type: ignore[assignment]
            if not start:
                return items

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        read = partial(self._chunk, snapshot.id)
        if snapshot.chunks == 1:
            return [read(0)]
        with ThreadPoolExecutor(_PARALLEL) as pool:
            return list(pool.map(read, range(snapshot.chunks)))

    def put_log(self, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        try:
            self._client.put_item(
                TableName=self._table,
                Item={
                    "pk": {"S": _LOG},
                    "sk": {"N": str(item.version)},
                    "epoch": {"N": str(item.epoch)},
                    "nonce": {"S": nonce},
                    "data": {"B": item.data},
                    "expiresAt": {"N": str(int(expires_at))},
                },
                ConditionExpression="attribute_not_exists(sk) OR epoch < :mine",
                ExpressionAttributeValues={":mine": {"N": str(item.epoch)}},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            found = self._failed_on(error)
            return LogWrite.WRITTEN if _nonce(found) == nonce else LogWrite.OUTRANKED
        except BotoCoreError as error:
            raise self._unavailable(error) from error
        return LogWrite.WRITTEN

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        def put(index: int) -> None:
            item = _chunk_key(snapshot_id, index) | {
                "data": {"B": chunks[index]},
                "expiresAt": {"N": str(int(expires_at))},
            }
            with self._told():
                self._client.put_item(TableName=self._table, Item=item)

        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(put, range(len(chunks))))

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        fenced = renewal(fence, renew_time=renew_time, nonce=nonce)
        update = pointer_update(pointer)
        try:
            self._client.update_item(
                TableName=self._table,
                Key=HEAD_KEY,
                ConditionExpression=fenced.condition,
                UpdateExpression=f"SET {fenced.assignments}, {update.assignments}",
                ExpressionAttributeNames=fenced.names | update.names,
                ExpressionAttributeValues=fenced.values | update.values,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if _nonce(self._failed_on(error)) != nonce:
                raise Deposed from error
        except BotoCoreError as error:
            raise self._unavailable(error) from error

    def _chunk(self, snapshot_id: str, index: int) -> bytes | None:
        with self._told():
            answer = self._client.get_item(TableName=self._table, Key=_chunk_key(snapshot_id, index))
        item = answer.get("Item")
        return None if item is None else self._data(item)

    def _log_item(self, item: Item) -> LogItem:
        try:
            return LogItem(int(item["sk"]["N"]), int(item["epoch"]["N"]), self._data(item))
        except (KeyError, ValueError) as error:
            raise self._malformed() from error

    def _data(self, item: Item) -> bytes:
        if "B" not in item.get("data", {}):
            raise self._malformed()
        return item["data"]["B"]

    def _failed_on(self, error: ClientError) -> Item:
        """The item that did not meet the condition; empty where there is none. Raises what any other error means."""
        if error.response["Error"]["Code"] != _CONDITION_FAILED:
            raise self._unavailable(error) from error
        found: Item = error.response.get("Item", {})  # type: ignore[assignment]
        return found

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: ClientError | BotoCoreError) -> TableUnavailable:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        return TableUnavailable(f"node cache table {self._table}: {_REMEDIES.get(code, str(error))} ({code})")

    def _malformed(self) -> TableUnavailable:
        return TableUnavailable(f"node cache table {self._table}: an item is malformed; the next snapshot replaces it")


def _nonce(item: Item) -> str | None:
    return item.get("nonce", {}).get("S")


def _chunk_key(snapshot_id: str, index: int) -> dict[str, UniversalAttributeValueTypeDef]:
    # Each chunk under a partition of its own, so that they can be read in parallel.
    return {"pk": {"S": f"snapshot#{snapshot_id}#{index}"}, "sk": {"N": "0"}}
