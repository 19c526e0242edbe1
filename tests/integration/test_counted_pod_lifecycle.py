"""Reservation, confirmation and release of a counted pod with the template's functions and embedded tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import orjson
import pytest
import yaml

from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.entry import EntryState
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.serve import local_stack
from berth_cli.serve.embedded_dynamodb import CACHE_TABLE, LEDGER_TABLE, EmbeddedDynamoDB, mark_ledger_ready
from berth_cli.serve.functions import load_handler
from berth_cli.serve.template_api import read_template_api
from berth_cli.serve.watcher_thread import LocalLambdaContext
from tests.builders.events import http_event
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

SLOT = "example.com/slot"
DOCUMENT = {"profile": "managed-resources", "managedResources": [{"name": SLOT}]}
TIMEOUT_SECONDS = 30.0


class LocalStack:
    """The local stack on a dump file that the test writes."""

    def __init__(self, dump: Path) -> None:
        self.dump = dump
        self.write("a", "b", "c")
        self._local_stack = local_stack.start(
            BerthConfiguration.model_validate(DOCUMENT), local_stack.dump_environment(dump)
        )
        self.client = boto3.client("dynamodb")
        self.ledger = DynamoDBLedgerTable(self.client, LEDGER_TABLE)
        handlers = {source.code.name: source for source in read_template_api().functions.values()}
        self._load: Callable[[str], Any] = lambda name: load_handler(handlers[name])
        self.run_time = LocalLambdaContext(600)
        self._watcher = Thread(target=self._local_stack.run_watcher, args=(self.run_time,), daemon=True)
        self._watcher.start()

    def write(self, *pods: str) -> None:
        items = [node_with("node-a", allocatable={SLOT: "2"})]
        items += [pod_with(name, requests={SLOT: "1"}) for name in pods]
        part = self.dump.with_suffix(".part")
        part.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
        os.replace(part, self.dump)

    def bind(self, name: str) -> str:
        body = {"PodName": name, "PodNamespace": "default", "PodUID": f"uid-{name}", "Node": "node-a"}
        answer = self._load("bind")(http_event(orjson.dumps(body).decode(), "POST /scheduler/bind"), None)
        error: str = orjson.loads(answer["body"])["Error"]
        return error

    def states(self) -> Mapping[str, EntryState]:
        found = self.ledger.node("node-a")
        return {} if found is None else {entry.pod.name: entry.state for entry in found.entries.values()}

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + TIMEOUT_SECONDS
        while not holds():
            assert time.monotonic() < until, f"{what}: {self.ledger.nodes()} {self.ledger.open_reservations()}"
            time.sleep(0.1)

    def stop(self) -> None:
        self.run_time.stop()
        self._watcher.join(20)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[LocalStack]:
    before, session = os.environ.copy(), boto3.DEFAULT_SESSION
    EmbeddedDynamoDB().install()
    # All tests of a process share the tables: items of other tests are removed and restored.
    other_items = {table: _remove_items(table) for table in (CACHE_TABLE, LEDGER_TABLE)}
    mark_ledger_ready()
    try:
        stack = LocalStack(tmp_path / "cluster.yaml")
        yield stack
        stack.stop()
    finally:
        for table, items in other_items.items():
            _remove_items(table)
            for item in items:
                boto3.client("dynamodb").put_item(TableName=table, Item=item)
        os.environ.clear()
        os.environ.update(before)
        boto3.DEFAULT_SESSION = session


def _remove_items(table: str) -> list[Any]:
    client = boto3.client("dynamodb")
    items: list[Any] = client.scan(TableName=table)["Items"]
    for item in items:
        client.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
    return items


def test_counted_pod_is_bound_confirmed_and_released(stack: LocalStack) -> None:
    stack.wait("the node has a ledger", lambda: stack.ledger.node("node-a") is not None)

    assert (stack.bind("a"), stack.bind("b")) == ("", "")
    assert stack.bind("c") == f"Insufficient {SLOT}"
    stack.wait("both reservations are confirmed", lambda: stack.states() == dict.fromkeys("ab", EntryState.BOUND))
    stack.wait("no reservation is open", lambda: not stack.ledger.open_reservations())

    stack.write("b", "c")
    stack.wait("the reservation of a is released", lambda: "a" not in stack.states())
    assert stack.bind("c") == ""
    stack.wait("c is confirmed", lambda: stack.states() == dict.fromkeys("bc", EntryState.BOUND))
