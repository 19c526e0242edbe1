"""The throughput of a new on-demand table, which no emulator limits, as a guard in front of one.

A new table takes 4,000 write units and 12,000 read units a second, on four partitions of 1,000 and 3,000 each. A
request is admitted while the table and its partition have any tokens left; its units may leave them below zero. There
is no burst: a bucket holds what one second brings. Both are harder than DynamoDB is said to be.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.capacity.item_size import item_size, read_units, write_units
from tests.unit.lease.dynamodb_stores import Send, error_response

WRITES, READS = ("PutItem", "UpdateItem", "DeleteItem"), ("GetItem", "Query")
UPDATED_BYTES = 2_000
"""Of an item that is updated: the head and a node's ledger are smaller."""


class TokenBucket:
    """Units that come at this rate. Holds those of one second."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate
        self._at = now

    def has_any(self, now: float) -> bool:
        """Whether a request is admitted."""
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate)
        self._at = now
        return self._tokens > 0

    def take(self, units: float) -> None:
        """Of an admitted request."""
        self._tokens -= units


@dataclass
class Tally:
    """calls: that came. throttled: of them. written: how often each key was put, without those that were throttled."""

    calls: Counter[str] = field(default_factory=Counter)
    throttled: Counter[str] = field(default_factory=Counter)
    written: Counter[tuple[str, str]] = field(default_factory=Counter)

    def calls_per_write(self, *operations: str) -> float:
        """Calls of these operations for each that was admitted."""
        calls = sum(self.calls[each] for each in operations)
        return calls / (calls - sum(self.throttled[each] for each in operations))


class NewTable:
    """Admits requests, or refuses them with the body that DynamoDB would answer."""

    def __init__(
        self,
        now: Callable[[], float],
        *,
        writes: float = 4_000,
        reads: float = 12_000,
        partitions: int = 4,
        down: Callable[[], bool] = lambda: False,
    ) -> None:
        """now: in seconds. down: while it is true, nothing is admitted."""
        at = now()
        self.tally = Tally()
        self._now = now
        self._down = down
        self._lock = Lock()
        self._table = {"Write": TokenBucket(writes, at), "Read": TokenBucket(reads, at)}
        self._partitions = [
            {"Write": TokenBucket(writes / partitions, at), "Read": TokenBucket(reads / partitions, at)}
            for _ in range(partitions)
        ]

    def refusal(self, operation: str, body: bytes) -> bytes | None:
        """The body of the error, None for a request that is admitted. operation: of X-Amz-Target."""
        kind = "Write" if operation in WRITES else "Read" if operation in READS else ""
        if not kind:
            return None
        request = json.loads(body)
        key = _key(request)
        with self._lock:
            now = self._now()
            table, partition = self._table[kind], self._partitions[zlib.crc32(key[0].encode()) % len(self._partitions)]
            self.tally.calls[operation] += 1
            arn = f"arn:aws:dynamodb:eu-central-1:000000000000:table/{request['TableName']}"
            # Both are asked: each has to be brought up to this moment.
            table_admits, partition_admits = table.has_any(now), partition[kind].has_any(now)
            if not table_admits or self._down():
                self.tally.throttled[operation] += 1
                return _body("ThrottlingException", f"Table{kind}AccountLimitExceeded", arn)
            if not partition_admits:
                self.tally.throttled[operation] += 1
                reason = f"Table{kind}KeyRangeThroughputExceeded"
                return _body("ProvisionedThroughputExceededException", reason, arn)
            if kind == "Write":
                units = write_units(item_size(_decoded(request["Item"])) if "Item" in request else UPDATED_BYTES)
                self._take(table, partition[kind], units)
                if operation == "PutItem":
                    self.tally.written[key] += 1
        return None

    def answered(self, operation: str, body: bytes, size: int) -> None:
        """A read was answered with so many bytes. base64 makes four of three."""
        if operation in READS:
            partition = self._partitions[zlib.crc32(_key(json.loads(body))[0].encode()) % len(self._partitions)]
            with self._lock:
                self._take(self._table["Read"], partition["Read"], read_units(size * 3 // 4))

    @staticmethod
    def _take(table: TokenBucket, partition: TokenBucket, units: float) -> None:
        table.take(units)
        partition.take(units)


def send_throttled(guard: NewTable, request: AWSPreparedRequest, send: Send) -> AWSResponse | None:
    """What botocore gets for a request that it is about to send: the refusal, or what `send` answers."""
    target: Any = request.headers["X-Amz-Target"]
    body: Any = request.body
    operation = target.decode().rpartition(".")[2]
    refused = guard.refusal(operation, body)
    if refused is not None:
        return error_response(request.url, refused)
    response = send(request)
    if response is not None:
        guard.answered(operation, body, len(response.content))
    return response


def _key(request: Mapping[str, Any]) -> tuple[str, str]:
    if "KeyConditionExpression" in request:
        return next(iter(request["ExpressionAttributeValues"].values()))["S"], ""
    item = request.get("Item") or request["Key"]
    return item["pk"]["S"], next(iter(item["sk"].values()))


def _decoded(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"B": base64.b64decode(value["B"])} if value.keys() == {"B"} else value for name, value in item.items()
    }


def _body(code: str, reason: str, arn: str) -> bytes:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html"""
    message = "Throughput exceeds the current capacity of your table or index."
    return json.dumps(
        {
            "__type": f"com.amazonaws.dynamodb.v20120810#{code}",
            "message": message,
            "ThrottlingReasons": [{"reason": reason, "resource": arn}],
        }
    ).encode()
