"""The cache table on DynamoDB: partition key `pk` (S), sort key `sk` (N), TTL `expiresAt`.

| item | pk | sk |
|---|---|---|
| head: lease and pointer | head | 0 |
| log item | log#uid of the head#its part | its version |
| snapshot chunk | snapshot#id#index | 0 |

The same table contains the configuration and the records of decisions.

A new on-demand table accepts 4,000 write units a second, and each of its partitions 1,000; an older table accepts more.
The table rejects further requests. These are free, but they take time and compete with the renewal of the lease.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb import HEAD_KEY, CacheTableAdapter, TableThrottled
from berth.nodecache.feed.dynamodb_head import pointer_update, read_head
from berth.nodecache.feed.head import Head, Pointer, PublishedVersion, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, StaleFence
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

    from berth.lease.lock import Fence

    Item = Mapping[str, AttributeValueTypeDef]

WRITE_UNIT = 1024
"""The bytes that one write unit covers."""

_SECONDS = 0.25
_LEAST = 250.0
_FASTER_AT_FIRST = 1.5
_FASTER = 1.05
_SLOWER = 0.7


@dataclass(slots=True)
class WritePace:
    """The rate of one writer, in write units a second: at first half of a new table's rate, at least a quarter of one
    partition's rate. The rate grows fast until the table throttles, and slowly afterwards."""

    rate: float = 2_000.0
    is_limit_known: bool = False

    def count(self, sizes: Iterable[int]) -> int:
        """Return how many items to write before the next wait, at least one. sizes: the items' bytes."""
        return 1 + sum(self.seconds(size) < _SECONDS for size in accumulate(sizes))

    def seconds(self, size: int) -> float:
        return size / WRITE_UNIT / self.rate

    def adapt(self, *, throttled: bool) -> None:
        if throttled:
            self.is_limit_known = True
            self.rate = max(_LEAST, self.rate * _SLOWER)
        else:
            self.rate *= _FASTER if self.is_limit_known else _FASTER_AT_FIRST


K = TypeVar("K")
V = TypeVar("V")

_PARALLEL = 8


class _ChunkWrite(Enum):
    """The result of writing a chunk. WRITTEN_LATE: the write was repeated, so the table is near its limit."""

    WRITTEN = auto()
    WRITTEN_LATE = auto()
    REFUSED = auto()


class DynamoDBCacheTable(CacheTableAdapter, CacheTable):
    """The table on DynamoDB. Readers may share it between threads; one thread writes. Its only state is the pace."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        super().__init__(client, table_name)
        self._pace = WritePace()

    def head(self) -> Head | None:
        return self._head(is_consistent=True)

    def head_eventually(self) -> Head | None:
        return self._head(is_consistent=False)

    def _head(self, *, is_consistent: bool) -> Head | None:
        item = self._item(HEAD_KEY, is_consistent=is_consistent)
        with self._well_formed("the head item", "; delete it and the next watcher publishes a new one"):
            return None if item is None else read_head(item)

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        logs = _in_parallel(lambda part: self._log_of_part(uid, part, after, through[part]), list(through))
        return [item for items in logs for item in items]

    def _log_of_part(self, uid: str, part: SnapshotPart, after: int, through: int) -> list[LogItem]:
        items: list[LogItem] = []
        start: dict[str, UniversalAttributeValueTypeDef] | None = None
        while True:
            with self._errors.errors():
                page = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :log AND sk BETWEEN :first AND :last",
                    ExpressionAttributeValues={
                        ":log": {"S": _log_partition(uid, part)},
                        ":first": {"N": str(after + 1)},
                        ":last": {"N": str(through)},
                    },
                    ConsistentRead=True,
                    **({"ExclusiveStartKey": start} if start else {}),  # type: ignore[arg-type]
                )
            items += (item for found in page["Items"] if (item := _log_item(part, found)) is not None)
            start = page.get("LastEvaluatedKey")  # type: ignore[assignment]
            if not start:
                return items

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        return _in_parallel(partial(self._chunk, snapshot.id), snapshot.indexes(parts))

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        try:
            self._client.put_item(
                TableName=self._table,
                Item={
                    "pk": {"S": _log_partition(uid, item.part)},
                    "sk": {"N": str(item.version)},
                    "epoch": {"N": str(item.epoch)},
                    "previous": {"L": [{"N": str(number)} for number in item.previous]},
                    "nonce": {"S": nonce},
                    "data": {"B": item.data},
                    "expiresAt": {"N": str(int(expires_at))},
                },
                ConditionExpression="attribute_not_exists(sk) OR epoch < :mine",
                ExpressionAttributeValues={":mine": {"N": str(item.epoch)}},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except (ClientError, BotoCoreError) as error:
            return LogWrite.WRITTEN if _nonce(self._errors.refused(error)) == nonce else LogWrite.STALE_EPOCH
        return LogWrite.WRITTEN

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        def put(index: int) -> _ChunkWrite:
            item = _chunk_key(snapshot_id, index) | {
                "data": {"B": chunks[index]},
                "expiresAt": {"N": str(int(expires_at))},
            }
            try:
                with self._errors.errors():
                    answer = self._client.put_item(TableName=self._table, Item=item)
            except TableThrottled:
                return _ChunkWrite.REFUSED
            retried = answer["ResponseMetadata"].get("RetryAttempts", 0) > 0
            return _ChunkWrite.WRITTEN_LATE if retried else _ChunkWrite.WRITTEN

        left = list(range(len(chunks)))
        with ThreadPoolExecutor(_PARALLEL) as pool:
            while left:
                count = self._pace.count(len(chunks[index]) for index in left)
                group, left = left[:count], left[count:]
                results = list(pool.map(put, group))
                # Retry rejected chunks last: their partitions do not have units left now, but other partitions may.
                left += [index for index, result in zip(group, results, strict=True) if result is _ChunkWrite.REFUSED]
                self._pace.adapt(throttled=any(result is not _ChunkWrite.WRITTEN for result in results))
                if left:
                    wait(self._pace.seconds(sum(len(chunks[index]) for index in group)))

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        # Only a leader needs this import: the verbs only read.
        from berth.lease.dynamodb_lock import FENCE_MATCHES, fenced_update

        fenced = fenced_update(fence, renew_time=renew_time, nonce=nonce)
        update = pointer_update(pointer)
        try:
            self._client.update_item(
                TableName=self._table,
                Key=HEAD_KEY,
                ConditionExpression=FENCE_MATCHES,
                UpdateExpression=f"SET {fenced.text}, {update.text}",
                ExpressionAttributeNames=fenced.names | update.names,
                ExpressionAttributeValues=fenced.values | update.values,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except (ClientError, BotoCoreError) as error:
            if _nonce(self._errors.refused(error)) != nonce:
                raise StaleFence from error

    def put_counting_refusal(self, reason: str) -> None:
        change: dict[str, Any] = {"UpdateExpression": "REMOVE countingRefusal"}
        if reason:
            change = {
                "UpdateExpression": "SET countingRefusal = :reason",
                "ExpressionAttributeValues": {":reason": {"S": reason}},
            }
        self._is_written(self._client.update_item, Key=HEAD_KEY, ConditionExpression="attribute_exists(pk)", **change)

    def _chunk(self, snapshot_id: str, index: int) -> bytes | None:
        item = self._item(_chunk_key(snapshot_id, index), is_consistent=False)
        return None if item is None else item.get("data", {}).get("B", b"")


def _in_parallel(read: Callable[[K], V], keys: Sequence[K]) -> list[V]:
    if len(keys) <= 1:
        return list(map(read, keys))
    with ThreadPoolExecutor(_PARALLEL) as pool:
        return list(pool.map(read, keys))


def _nonce(item: Item | None) -> str | None:
    return None if item is None else item.get("nonce", {}).get("S")


def _log_partition(uid: str, part: SnapshotPart) -> str:
    return f"log#{uid}#{part}"


def _log_item(part: SnapshotPart, item: Item) -> LogItem | None:
    try:
        version, epoch, *_ = item["previous"]["L"]
        return LogItem(
            part=part,
            version=int(item["sk"]["N"]),
            epoch=int(item["epoch"]["N"]),
            previous=PublishedVersion(int(version["N"]), int(epoch["N"])),
            data=item["data"]["B"],
        )
    except (KeyError, ValueError):
        return None


def _chunk_key(snapshot_id: str, index: int) -> dict[str, UniversalAttributeValueTypeDef]:
    # Each chunk has its own partition, so that chunks can be read in parallel.
    return {"pk": {"S": f"snapshot#{snapshot_id}#{index}"}, "sk": {"N": "0"}}
