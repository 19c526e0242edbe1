"""A counted pod in the template's functions and the embedded tables: bound, confirmed, ended, and forgotten."""

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
from berth_cli.serve.embedded_dynamodb import CACHE_TABLE, LEDGER_TABLE, EmbeddedDynamoDB
from berth_cli.serve.functions import load_handler
from berth_cli.serve.template_api import read_template_api
from berth_cli.serve.watcher_thread import LocalLambdaContext
from tests.builders.events import http_event
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

SLOT = "example.com/slot"
DOCUMENT = {"profile": "managed-resources", "managedResources": [{"name": SLOT}]}
PATIENCE = 30.0


class Served:
    """The stack on a dump that the test writes."""

    def __init__(self, dump: Path) -> None:
        self.dump = dump
        self.write("a", "b", "c")
        self.stack = local_stack.start(BerthConfiguration.model_validate(DOCUMENT), local_stack.dump_environment(dump))
        self.client = boto3.client("dynamodb")
        self.ledger = DynamoDBLedgerTable(self.client, LEDGER_TABLE)
        handlers = {source.code.name: source for source in read_template_api().functions.values()}
        self._load: Callable[[str], Any] = lambda name: load_handler(handlers[name])
        self.run_time = LocalLambdaContext(600)
        self._watcher = Thread(target=self.stack.run_watcher, args=(self.run_time,), daemon=True)
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
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, f"{what}: {self.ledger.nodes()} {self.ledger.open_reservations()}"
            time.sleep(0.1)

    def stop(self) -> None:
        self.run_time.stop()
        self._watcher.join(20)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    before, session = os.environ.copy(), boto3.DEFAULT_SESSION
    EmbeddedDynamoDB().install()
    # A process has one store: what other tests have in it is taken out meanwhile.
    others = {table: _taken_out(table) for table in (CACHE_TABLE, LEDGER_TABLE)}
    EmbeddedDynamoDB._mark_ready()
    try:
        served = Served(tmp_path / "cluster.yaml")
        yield served
        served.stop()
    finally:
        for table, items in others.items():
            _taken_out(table)
            for item in items:
                boto3.client("dynamodb").put_item(TableName=table, Item=item)
        os.environ.clear()
        os.environ.update(before)
        boto3.DEFAULT_SESSION = session


def _taken_out(table: str) -> list[Any]:
    client = boto3.client("dynamodb")
    items: list[Any] = client.scan(TableName=table)["Items"]
    for item in items:
        client.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
    return items


def test_counted_pod_is_bound_confirmed_and_released(served: Served) -> None:
    served.wait("the node has a ledger", lambda: served.ledger.node("node-a") is not None)

    assert (served.bind("a"), served.bind("b")) == ("", "")
    assert served.bind("c") == f"Insufficient {SLOT}"
    served.wait("both are confirmed", lambda: served.states() == dict.fromkeys("ab", EntryState.BOUND))
    served.wait("nothing is being bound", lambda: not served.ledger.open_reservations())

    served.write("b", "c")
    served.wait("what a held is free", lambda: "a" not in served.states())
    assert served.bind("c") == ""
    served.wait("c is confirmed", lambda: served.states() == dict.fromkeys("bc", EntryState.BOUND))
