"""Records of decisions in DynamoDB: read by pod, newest last, with an expiry."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.decisions.recorders import KEPT_SECONDS, DynamoDBDecisionTable
from berth.dynamodb import TableUnavailable

NOW = 1_800_000_000.0


def record(pod: str, at: float, **more: object) -> dict[str, object]:
    return {"version": 1, "time": at, "namespace": "ml", "name": pod, **more}


def test_reads_the_newest_records_of_a_pod_in_chronological_order(client: DynamoDBClient, name: str) -> None:
    table = DynamoDBDecisionTable(client, name)
    for number, pod in enumerate(("a", "b", "a", "a")):
        table.put(record(pod, NOW + number, reasons=[{"count": number}]))
    assert table.of_pod("ml", "a", 2) == [
        record("a", NOW + 2, reasons=[{"count": 2}]),
        record("a", NOW + 3, reasons=[{"count": 3}]),
    ]
    assert table.of_pod("ml", "unknown", 2) == []


def test_each_record_is_written_with_an_expiry_time(client: DynamoDBClient, name: str) -> None:
    DynamoDBDecisionTable(client, name).put(record("a", NOW))
    [item] = client.scan(TableName=name)["Items"]
    assert item["expiresAt"] == {"N": str(int(NOW + KEPT_SECONDS))}


def test_error_names_the_missing_table(client: DynamoDBClient) -> None:
    table = DynamoDBDecisionTable(client, "no-table")
    for call in (lambda: table.put(record("a", NOW)), lambda: table.of_pod("ml", "a", 1)):
        with pytest.raises(TableUnavailable, match="no-table: the table does not exist"):
            call()


def test_error_names_the_malformed_record(client: DynamoDBClient, name: str) -> None:
    item = {"pk": {"S": "decision#ml/a"}, "sk": {"N": "1"}, "record": {"S": "{"}}
    client.put_item(TableName=name, Item=item)
    with pytest.raises(TableUnavailable, match="a record is malformed"):
        DynamoDBDecisionTable(client, name).of_pod("ml", "a", 1)
