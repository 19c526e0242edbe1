"""The watcher's function: what it answers to whoever invokes it, and what it logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.nodecache.codec import unpack
from berth.nodecache.dynamodb_table import DynamoDBCacheTable
from tests.fakes.log_lines import LogLines

EVENT = {"source": "aws.scheduler"}
TABLE = "watcher-function"
Load = Callable[..., Callable[..., Any]]


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[DynamoDBCacheTable]:
    """A cache table of the function's own, empty."""
    dynamodb.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
    )
    yield DynamoDBCacheTable(dynamodb, TABLE)
    dynamodb.delete_table(TableName=TABLE)


def dump(directory: Path, *nodes: dict[str, object]) -> Path:
    path = directory / "dump.yaml"
    path.write_text(yaml.safe_dump({"kind": "List", "items": [{"kind": "Node", "metadata": node} for node in nodes]}))
    return path


def test_it_publishes_and_then_finds_nothing_new(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    path = dump(tmp_path, {"name": "n1"}, {"name": "n2"})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    assert handler(EVENT, None) == {"outcome": "published", "version": 1, "nodes": 2, "reason": ""}
    assert handler(EVENT, None) == {"outcome": "unchanged", "version": 2, "nodes": 2, "reason": ""}
    head = table.head()
    assert head is not None
    chunks = [chunk for chunk in table.chunks(head.snapshot) if chunk is not None]
    assert list(unpack(chunks).nodes) == ["n1", "n2"]
    assert [(line["level"], line["verb"], line["outcome"], line["detail"]) for line in log_lines.all()] == [
        ("INFO", "watcher", "published", "2 nodes, version 1"),
        ("INFO", "watcher", "unchanged", "2 nodes, version 2"),
    ]


def test_a_cluster_that_cannot_be_read_is_an_outcome_and_a_warning(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    path = tmp_path / "absent.yaml"
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    reason = f"dump {path}: No such file or directory"
    assert handler(EVENT, None) == {
        "outcome": "failure-cluster-unavailable",
        "version": 0,
        "nodes": 0,
        "reason": reason,
    }
    assert [(line["level"], line["outcome"], line["detail"]) for line in log_lines.all()] == [
        ("WARNING", "failure-cluster-unavailable", reason)
    ]
    assert table.head() is None


def test_a_kubeconfig_that_cannot_be_read_is_an_outcome_too(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path
) -> None:
    path = tmp_path / "absent"
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_KUBECONFIG": str(path)})
    assert handler(EVENT, None)["outcome"] == "failure-cluster-unavailable"


def test_a_table_that_is_not_there_is_an_outcome_too(load_function: Load, tmp_path: Path) -> None:
    path = dump(tmp_path, {"name": "n1"})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": "absent", "BERTH_CLUSTER_DUMP": str(path)})
    answer = handler(EVENT, None)
    assert answer["outcome"] == "failure-table-unavailable"
    assert "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE" in answer["reason"]


def test_nodes_that_could_not_be_read_are_told(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    """Nobody would miss them otherwise: a node without a name is in no answer."""
    path = dump(tmp_path, {"name": "n1"}, {"labels": {}}, {"name": ""})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    assert handler(EVENT, None)["nodes"] == 1
    [line] = log_lines.all()
    assert "2" in line["detail"]
    assert "unreadable" in line["detail"]


@pytest.mark.parametrize("event", [None, {}, [], "x", {"source": "someone else"}])
def test_the_event_says_nothing(load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, event: object) -> None:
    path = dump(tmp_path, {"name": "n1"})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    assert handler(event, None)["outcome"] == "published"
