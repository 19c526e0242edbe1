"""The watcher function and `berth watch` share one lease: whichever leads, the other one takes over from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

import pytest

from berth.dynamodb import HEAD_KEY
from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.cluster_settings import WatcherSettings
from berth.runtime.watcher.watcher_function import WatcherFunction
from berth.runtime.watcher.watcher_run import MARGIN_SECONDS
from berth_cli.watch.process import WatcherProcess
from tests.builders.tables import create_cache_table
from tests.conftest import PROJECT

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

TABLE = "handover"
DUMP = PROJECT / "examples" / "resource-segregation" / "cluster.yaml"
SECONDS = 30.0

Result = dict[str, str | int]


class Context:
    """Of an invocation of the function."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(max(0.0, self._until - time.monotonic()) * 1000)


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[DynamoDBClient]:
    create_cache_table(dynamodb, TABLE)
    yield dynamodb
    dynamodb.delete_table(TableName=TABLE)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def settings(*, standby: bool) -> WatcherSettings:
    return WatcherSettings.from_environ(
        {
            "BERTH_CACHE_TABLE": TABLE,
            "BERTH_CLUSTER_DUMP": str(Path(DUMP)),
            "BERTH_WATCHER_STANDBY": "true" if standby else "",
        }
    )


def function(seconds: float, event: object = None) -> Result:
    """One invocation of the watcher function that the schedule starts."""
    return WatcherFunction(settings(standby=False)).handle(event, Context(seconds))


@contextmanager
def process(threads: ThreadPoolExecutor) -> Iterator[Queue[str]]:
    """`berth watch`, and the holders of the lease as it learns of them. It is stopped as by SIGTERM."""
    holders: Queue[str] = Queue()
    watcher = WatcherFunction(settings(standby=True), on_new_leader=holders.put)
    running = WatcherProcess(watcher.handle, lambda: None)
    ended: Future[None] = threads.submit(running.run)
    try:
        yield holders
    finally:
        running.stop()
        ended.result(SECONDS)


def holder(client: DynamoDBClient) -> str:
    item = client.get_item(TableName=TABLE, Key=HEAD_KEY, ConsistentRead=True).get("Item", {})
    return str(item.get("holderIdentity", {}).get("S", ""))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_function_is_not_needed_while_a_process_leads(table: DynamoDBClient, threads: ThreadPoolExecutor) -> None:
    with process(threads) as holders:
        leader = holders.get(timeout=SECONDS)
        assert leader == holder(table) != ""
        assert function(seconds=900.0)["outcome"] == WatcherOutcome.NOT_NEEDED
        assert holder(table) == leader
    assert holder(table) == ""


def test_function_leads_after_a_process_was_stopped(table: DynamoDBClient, threads: ThreadPoolExecutor) -> None:
    with process(threads) as holders:
        leader = holders.get(timeout=SECONDS)
    found = function(seconds=60.0, event={"mode": "periodic"})
    assert leader
    assert (found["outcome"], found["reason"]) == (WatcherOutcome.HANDED_OVER, "")
    assert int(found["publications"]) >= 1


@pytest.mark.long
def test_process_takes_over_at_the_handover_of_the_function(table: DynamoDBClient, threads: ThreadPoolExecutor) -> None:
    invocation = threads.submit(function, MARGIN_SECONDS + 4)
    until(lambda: holder(table) != "")
    leader = holder(table)
    with process(threads) as holders:
        assert holders.get(timeout=SECONDS) == leader
        found = invocation.result(SECONDS)
        assert found["outcome"] == WatcherOutcome.HANDED_OVER
        until(lambda: holder(table) not in ("", leader))
