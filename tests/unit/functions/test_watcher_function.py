"""The watcher's function: its answers and its log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.nodecache.feed.changes import unpack
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.leader import PublishIntervals
from berth.runtime.watcher.watcher_run import MARGIN_SECONDS
from berth_cli.server.watcher_thread import LocalLambdaContext
from tests.builders.tables import create_cache_table
from tests.fakes.log_lines import LogLines
from tests.unit.runtime.telemetry.metric_lines import printed

EVENT = {"mode": "periodic"}
SECONDS = 20.0
TABLE = "watcher-function"
Load = Callable[..., Callable[..., Any]]


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[DynamoDBCacheTable]:
    """Create an empty cache table for the function alone."""
    create_cache_table(dynamodb, TABLE)
    yield DynamoDBCacheTable(dynamodb, TABLE)
    dynamodb.delete_table(TableName=TABLE)


def dump(directory: Path, *nodes: dict[str, object]) -> Path:
    path = directory / "dump.yaml"
    path.write_text(yaml.safe_dump({"kind": "List", "items": [{"kind": "Node", "metadata": node} for node in nodes]}))
    return path


def test_publishes_the_cluster_and_hands_the_lease_over(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    path = dump(tmp_path, {"name": "n1"}, {"name": "n2"})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    done = {"outcome": "handed-over", "publications": 1, "objects": 2, "nodes": 2, "reason": ""}
    assert handler(EVENT, LocalLambdaContext(SECONDS)) == done
    first = published(table)
    assert handler(EVENT, LocalLambdaContext(SECONDS)) == done
    assert published(table).version == first.version
    assert published(table).heartbeat > first.heartbeat
    assert first.snapshot is not None
    chunks = [chunk for chunk in table.chunks(first.snapshot) if chunk is not None]
    assert {(change.resource, change.key) for change in unpack(chunks)} == {("nodes", "n1"), ("nodes", "n2")}
    ended = [line for line in log_lines.all() if line.get("verb") == "watcher"]
    assert [(line["level"], line["outcome"], line["detail"]) for line in ended] == [
        ("INFO", "handed-over", "1 publications, 2 objects of them 2 nodes")
    ] * 2


def published(table: DynamoDBCacheTable) -> Pointer:
    head = table.head()
    assert head is not None
    assert head.pointer is not None
    return head.pointer


@pytest.mark.long
def test_emits_metrics_of_last_publication_before_it_ends(
    load_function: Load,
    table: DynamoDBCacheTable,
    tmp_path: Path,
    log_lines: LogLines,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    path = dump(tmp_path, {"name": "n1"})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    # Two heartbeats, too soon after the first publication for a line of their own.
    done = handler({"mode": "continuous"}, LocalLambdaContext(MARGIN_SECONDS + 2 * PublishIntervals().heartbeat + 0.2))
    assert len([line for line in printed(capsys) if "PublishedAge" in line]) == 2
    assert done["publications"] > 1


def test_reports_unreadable_cluster_as_outcome_and_warning(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    path = tmp_path / "absent.yaml"
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    reason = f"dump {path}: No such file or directory"
    assert handler(EVENT, LocalLambdaContext(SECONDS)) == {
        "outcome": "failure-cluster-unavailable",
        "publications": 0,
        "objects": 0,
        "nodes": 0,
        "reason": reason,
    }
    [line] = [line for line in log_lines.all() if line.get("verb") == "watcher"]
    assert (line["level"], line["outcome"], line["detail"]) == ("WARNING", "failure-cluster-unavailable", reason)
    head = table.head()
    assert head is not None
    assert head.pointer is None


@pytest.mark.long
def test_continuous_run_logs_at_once_why_it_cannot_publish(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    path = tmp_path / "absent.yaml"
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    handler({"mode": "continuous"}, LocalLambdaContext(MARGIN_SECONDS + 1.0))
    lines = [(line["level"], line["message"]) for line in log_lines.all()]
    said = ("WARNING", f"the watcher cannot work, and tries again: dump {path}: No such file or directory")
    assert lines.count(said) == 1
    assert lines.index(said) < lines.index(("WARNING", "watcher"))


def test_reports_missing_table_as_outcome(load_function: Load, tmp_path: Path) -> None:
    path = dump(tmp_path, {"name": "n1"})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": "absent", "BERTH_CLUSTER_DUMP": str(path)})
    answer = handler(EVENT, LocalLambdaContext(SECONDS))
    assert answer["outcome"] == "failure-table-unavailable"
    assert "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE" in answer["reason"]


def test_warns_about_nodes_without_a_name(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, log_lines: LogLines
) -> None:
    """Otherwise they would be lost silently: answers do not contain a node without a name."""
    path = dump(tmp_path, {"name": "n1"}, {"labels": {}}, {"name": ""})
    handler = load_function("watcher", {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path)})
    assert handler(EVENT, LocalLambdaContext(SECONDS))["nodes"] == 1
    [line] = [line for line in log_lines.all() if line.get("verb") == "watcher"]
    assert line["level"] == "WARNING"
    assert line["detail"].endswith("; left out 2 without a name")


@pytest.mark.parametrize("event", [None, {}, [], "x", {"source": "someone else"}, {"mode": "always"}])
def test_treats_any_other_event_as_scheduled_start(
    load_function: Load, table: DynamoDBCacheTable, tmp_path: Path, event: object
) -> None:
    path = dump(tmp_path, {"name": "n1"})
    variables = {"BERTH_CACHE_TABLE": TABLE, "BERTH_CLUSTER_DUMP": str(path), "BERTH_WATCHER_MODE": "periodic"}
    assert load_function("watcher", variables)(event, LocalLambdaContext(SECONDS))["outcome"] == "handed-over"
