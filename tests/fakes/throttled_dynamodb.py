"""A guard in front of an emulator, which limits the throughput to that of a new on-demand table; no emulator does so.

A new table takes 4,000 write units and 12,000 read units a second, on four partitions of 1,000 and 3,000 each. A
request is admitted while the table and its partition have any tokens left; its units may leave them below zero. There
is no burst: a bucket holds the tokens of one second. Both rules are stricter than DynamoDB's documentation.

A transaction takes double units, and is canceled as a whole with a reason for each action. A batch of reads is refused
as a whole, even if DynamoDB would answer a part of it.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.botocore_stubber import BotocoreStubber

from tests.fakes.dynamodb_units import item_size, read_units, write_units
from tests.unit.lease.dynamodb_stores import Send, error_response

TRANSACTION, BATCH = "TransactWriteItems", "BatchGetItem"
WRITES, READS = ("PutItem", "UpdateItem", "DeleteItem", TRANSACTION), ("GetItem", "Query", BATCH)
UPDATED_BYTES = 2_000
"""Assumed size of an updated item: the head and a node's ledger are smaller."""


class TokenBucket:
    """Tokens that arrive at this rate. Holds at most the tokens of one second."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate
        self._at = now

    def has_any(self, now: float) -> bool:
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate)
        self._at = now
        return self._tokens > 0

    def take(self, units: float) -> None:
        self._tokens -= units


@dataclass
class Tally:
    """calls: all calls. throttled: the throttled calls. written: how often each key was put by calls not throttled."""

    calls: Counter[str] = field(default_factory=Counter)
    throttled: Counter[str] = field(default_factory=Counter)
    written: Counter[tuple[str, str]] = field(default_factory=Counter)

    def calls_per_write(self, *operations: str) -> float:
        """Return the number of calls of these operations per admitted call."""
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
        """now: in seconds. down: while it returns true, no request is admitted."""
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
        """Return the body of the error, or None if the request is admitted. operation: of X-Amz-Target."""
        kind = "Write" if operation in WRITES else "Read" if operation in READS else ""
        if not kind:
            return None
        request = json.loads(body)
        actions = [next(iter(each.values())) for each in request["TransactItems"]] if operation == TRANSACTION else []
        keys = [_key(each) for each in actions] or _keys(request)
        with self._lock:
            now = self._now()
            self.tally.calls[operation] += 1
            # Every bucket is checked, because the check adds the tokens until now.
            table_admits = self._table[kind].has_any(now) and not self._down()
            admits = [self._partition(key)[kind].has_any(now) for key in keys]
            if not table_admits or not all(admits):
                self.tally.throttled[operation] += 1
                if actions:
                    return _canceled(admits if table_admits else None, len(actions))
                return _refused(kind, _table(request), whole_table=not table_admits)
            if kind == "Write":
                for action, key in zip(actions or [request], keys, strict=True):
                    units = write_units(item_size(_decoded(action["Item"])) if "Item" in action else UPDATED_BYTES)
                    self._take(kind, key, units * (2 if actions else 1))
                if operation == "PutItem":
                    self.tally.written[keys[0]] += 1
        return None

    def answered(self, operation: str, body: bytes, size: int) -> None:
        """Take the units of a read that was answered with `size` bytes; base64 makes four bytes of three."""
        if operation in READS:
            keys = _keys(json.loads(body))
            with self._lock:
                for key in keys:
                    self._take("Read", key, read_units(size * 3 // 4 // len(keys)))

    def _partition(self, key: tuple[str, str]) -> Mapping[str, TokenBucket]:
        return self._partitions[zlib.crc32(key[0].encode()) % len(self._partitions)]

    def _take(self, kind: str, key: tuple[str, str], units: float) -> None:
        self._table[kind].take(units)
        self._partition(key)[kind].take(units)


class ThrottledMoto:
    """moto behind a guard; give `send` to a client. guard: if None, everything is admitted."""

    def __init__(self) -> None:
        self.guard: NewTable | None = None
        self._moto = BotocoreStubber()
        self._moto.enabled = True

    def send(self, request: AWSPreparedRequest) -> AWSResponse | None:
        if self.guard is None:
            return self._answer(request)
        return send_throttled(self.guard, request, self._answer)

    def _answer(self, request: AWSPreparedRequest) -> AWSResponse | None:
        return self._moto("before-send", request)


def send_throttled(guard: NewTable, request: AWSPreparedRequest, send: Send) -> AWSResponse | None:
    """Return a refusal of a request that botocore is about to send, or the response of `send`."""
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


def _table(request: Mapping[str, Any]) -> str:
    table: str = request["TableName"] if "TableName" in request else next(iter(request["RequestItems"]))
    return table


def _keys(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "RequestItems" in request:
        return [_key({"Key": key}) for each in request["RequestItems"].values() for key in each["Keys"]]
    return [_key(request)]


def _key(request: Mapping[str, Any]) -> tuple[str, str]:
    if "KeyConditionExpression" in request:
        return next(iter(request["ExpressionAttributeValues"].values()))["S"], ""
    item = request.get("Item") or request["Key"]
    return item["pk"]["S"], next(iter(item["sk"].values()))


def _decoded(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"B": base64.b64decode(value["B"])} if value.keys() == {"B"} else value for name, value in item.items()
    }


def _refused(kind: str, table: str, *, whole_table: bool) -> bytes:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html"""
    code, reason = "ProvisionedThroughputExceededException", f"Table{kind}KeyRangeThroughputExceeded"
    if whole_table:
        code, reason = "ThrottlingException", f"Table{kind}AccountLimitExceeded"
    arn = f"arn:aws:dynamodb:eu-central-1:000000000000:table/{table}"
    message = "Throughput exceeds the current capacity of your table or index."
    return _error(code, message, ThrottlingReasons=[{"reason": reason, "resource": arn}])


def _canceled(admits: Sequence[bool] | None, actions: int) -> bytes:
    """https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html

    admits: whether the partition of each action admits it; None: the table does not admit the transaction.
    """
    codes = ["ThrottlingError"] * actions
    if admits is not None:
        codes = ["None" if each else "ProvisionedThroughputExceeded" for each in admits]
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"
    return _error("TransactionCanceledException", message, CancellationReasons=[{"Code": code} for code in codes])


def _error(code: str, message: str, **more: object) -> bytes:
    return json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}).encode()
