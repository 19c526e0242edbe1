"""The template's functions as a local stack with a counted resource, which a test drives."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import orjson
import yaml

from berth.ledger.nodes.entry import EntryState
from berth.ledger.nodes.table import LedgerTable
from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.server import local_stack
from berth_cli.server.options import DynamoDBStore
from berth_cli.server.watcher_thread import LocalLambdaContext
from tests.builders.events import http_event
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

SLOT = "example.com/slot"
DOCUMENT = {"profile": "managed-resources", "managedResources": [{"name": SLOT}]}
TIMEOUT_SECONDS = 30.0


class LocalStack:
    """The local stack on a dump file that the test writes."""

    def __init__(self, dump: Path, store: DynamoDBStore, ledger: LedgerTable) -> None:
        """`ledger`: the store's ledger, which is ready."""
        self.dump, self.ledger = dump, ledger
        self.write("a", "b", "c")
        configuration, cluster = BerthConfiguration.model_validate(DOCUMENT), local_stack.dump_environment(dump)
        self._local_stack = local_stack.start(configuration, cluster, store=store, scheduler_names=[DEFAULT_SCHEDULER])
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
        answer = self.call("POST /scheduler/bind", http_event(orjson.dumps(body).decode(), "POST /scheduler/bind"))
        error: str = orjson.loads(answer["body"])["Error"]
        return error

    def call(self, route: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._local_stack.gateway.handlers[route](event, None)
        return answer

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


@contextmanager
def running(dump: Path, store: DynamoDBStore, ledger: LedgerTable) -> Iterator[LocalStack]:
    before = os.environ.copy()
    try:
        stack = LocalStack(dump, store, ledger)
        yield stack
        stack.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)
