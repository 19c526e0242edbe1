"""Records of decisions in the cache table: partition key `decision#NAMESPACE/POD`, sort key the time in microseconds.

They expire by the table's TTL, and are lost with the table: nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from berth.dynamodb import TableUnavailable, cache_table_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

PARTITION_PREFIX = "decision#"
KEPT_SECONDS = 7 * 24 * 3600.0


class DynamoDBDecisionTable:
    """Stateless; the client may be shared between threads. Every method raises TableUnavailable."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name
        self._errors = cache_table_errors(table_name)

    def put(self, document: Mapping[str, object]) -> None:
        """Store a record. One of the same pod and microsecond is replaced."""
        at = document["time"]
        assert isinstance(at, float)
        with self._errors.errors():
            self._client.put_item(
                TableName=self._table,
                Item={
                    "pk": {"S": f"{PARTITION_PREFIX}{document['namespace']}/{document['name']}"},
                    "sk": {"N": str(int(at * 1_000_000))},
                    "record": {"S": orjson.dumps(document).decode()},
                    "expiresAt": {"N": str(int(at + KEPT_SECONDS))},
                },
            )

    def of_pod(self, namespace: str, name: str, most: int) -> list[object]:
        """The newest records of the pod, as they were stored, the oldest first. One read."""
        with self._errors.errors():
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="pk = :pod",
                ExpressionAttributeValues={":pod": {"S": f"{PARTITION_PREFIX}{namespace}/{name}"}},
                ScanIndexForward=False,
                Limit=most,
            )
        try:
            return [orjson.loads(item["record"]["S"]) for item in reversed(answer["Items"])]
        except (KeyError, ValueError) as error:
            raise TableUnavailable(f"node cache table {self._table}: a record is malformed ({error})") from error
