"""Records of decisions in the cache table: partition key `decision#NAMESPACE/POD`, sort key the time in microseconds.

They expire by the table's TTL, and are lost with the table: nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from berth.decisions.background import REPEATABLE
from berth.dynamodb_errors import TableUnavailable, cache_table_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

PARTITION_PREFIX = "decision#"
KEPT_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """record: as it was stored. repeatable: see `repeatable.decoded`; None for a call without."""

    record: object
    repeatable: bytes | None


class DynamoDBDecisionTable:
    """Stateless; the client may be shared between threads. Every method raises TableUnavailable."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name
        self._errors = cache_table_errors(table_name)

    def put(self, document: Mapping[str, object]) -> None:
        """Store a record. One of the same pod and microsecond is replaced. What makes the decision repeatable is an
        attribute of its own."""
        at, repeatable = document["time"], document.get(REPEATABLE)
        assert isinstance(at, float)
        record = {name: value for name, value in document.items() if name != REPEATABLE}
        more: dict[str, AttributeValueTypeDef] = {}
        if isinstance(repeatable, bytes):
            more[REPEATABLE] = {"B": repeatable}
        with self._errors.errors():
            self._client.put_item(
                TableName=self._table,
                Item={
                    "pk": {"S": f"{PARTITION_PREFIX}{document['namespace']}/{document['name']}"},
                    "sk": {"N": str(int(at * 1_000_000))},
                    "record": {"S": orjson.dumps(record).decode()},
                    **more,
                    "expiresAt": {"N": str(int(at + KEPT_SECONDS))},
                },
            )

    def of_pod(self, namespace: str, name: str, most: int) -> list[object]:
        """The newest records of the pod, as they were stored, the oldest first. One read."""
        return [each.record for each in self.newest(namespace, name, most)]

    def newest(self, namespace: str, name: str, most: int) -> list[StoredDecision]:
        """The same, with what makes them repeatable."""
        with self._errors.errors():
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="pk = :pod",
                ExpressionAttributeValues={":pod": {"S": f"{PARTITION_PREFIX}{namespace}/{name}"}},
                ScanIndexForward=False,
                Limit=most,
            )
        with self._malformed():
            return [_stored(item) for item in reversed(answer["Items"])]

    def since(self, namespace: str, name: str, at: float) -> Iterator[StoredDecision]:
        """The records of the pod from this moment on, in seconds since the epoch, the oldest first."""
        start: Mapping[str, Any] = {}
        while True:
            with self._errors.errors():
                answer = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pod AND sk >= :at",
                    ExpressionAttributeValues={
                        ":pod": {"S": f"{PARTITION_PREFIX}{namespace}/{name}"},
                        ":at": {"N": str(int(at * 1_000_000))},
                    },
                    **start,
                )
            for item in answer["Items"]:
                with self._malformed():
                    yield _stored(item)
            if not answer.get("LastEvaluatedKey"):
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    @contextmanager
    def _malformed(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, ValueError) as error:
            raise TableUnavailable(f"node cache table {self._table}: a record is malformed ({error})") from error


def _stored(item: Mapping[str, AttributeValueTypeDef]) -> StoredDecision:
    """Raises KeyError and ValueError."""
    repeatable = bytes(item[REPEATABLE]["B"]) if REPEATABLE in item else None
    return StoredDecision(orjson.loads(item["record"]["S"]), repeatable)
