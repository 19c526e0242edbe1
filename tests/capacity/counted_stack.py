"""The functions of the template on the embedded DynamoDB, and a published cluster: what they use is counted."""

from __future__ import annotations

import base64
import io
import itertools
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
import orjson

from berth.configuration.counting_loss import REFRESH_SECONDS
from berth.decisions.sampled_log import ONE_OF
from berth.lease.clock import SystemClock
from berth.lease.config import LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.lease.outcomes import ElectionOutcome
from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.http.events import WARM_UP_EVENT
from berth.runtime.telemetry.call_log import SERVICE
from berth.runtime.watcher.warm_up import INTERVAL_SECONDS as WARM_UP_SECONDS
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.serve import local_stack
from berth_cli.serve.functions import load_handler
from berth_cli.serve.local_stack import LocalStack
from berth_cli.serve.stores import DynamoDBStore
from berth_cli.serve.template_api import read_template_api
from berth_cli.serve.watcher_thread import LocalLambdaContext
from tests.bench import large_cluster
from tests.capacity.item_size import item_size
from tests.capacity.metered_feed import Meter
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tools.cost.usage import CallUsage, PeriodicUsage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

PLACED_A_SECOND = 1.0
"""The load of the decisions."""

Handler = Callable[[Mapping[str, object], object], Any]

VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
"""Those that the watcher warms up."""

DECIDING_VERBS = ("filter", "prioritize", "bind")
"""Those of one decision."""

WARM_UPS = 5
"""Counted events: an environment writes one line for so many (telemetry/metrics.py)."""


class _ShiftedTime:
    """The clocks of this process, which can be put forward: nobody waits for what is read once in ten seconds."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    @contextmanager
    def installed(self) -> Iterator[None]:
        wall, monotonic = time.time, time.monotonic
        with (
            patch.object(time, "time", lambda: wall() + self._ahead),
            patch.object(time, "monotonic", lambda: monotonic() + self._ahead),
        ):
            yield


class CountedStack:
    """The functions as Lambda has them, and a published cluster."""

    def __init__(self, stack: LocalStack, store: DynamoDBStore, meter: Meter, shifted: _ShiftedTime) -> None:
        sources = {source.code.name: source for source in read_template_api().functions.values()}
        self._handlers: Mapping[str, Handler] = {name: load_handler(sources[name]) for name in VERBS}
        self._stack = stack
        self._store = store
        self._meter = meter
        self._time = shifted

    def count(self, verb: str, body: Mapping[str, object] | None) -> CallUsage:
        """A warm call, on the average of REFRESH_SECONDS: some tables are read once in this time. body: None for a
        warm-up event."""
        request = b"" if body is None else orjson.dumps(body)
        event: Mapping[str, object] = WARM_UP_EVENT
        seconds, calls = float(WARM_UP_SECONDS), WARM_UPS
        if body is not None:
            event = {"headers": {"accept-encoding": "gzip"}, "body": request.decode(), "isBase64Encoded": False}
            seconds, calls = 1 / PLACED_A_SECOND, round(REFRESH_SECONDS * PLACED_A_SECOND)
        handler, answer = self._handlers[verb], dict[str, Any]()
        self._publish()
        handler(event, None)
        # The second call of an environment also logs its decision, as one of a hundred does.
        sampled = printed(lambda: handler(event, None))
        plain = printed(lambda: handler(event, None))
        self._meter.clear()
        logged = 0
        for _ in range(calls):
            self._time.advance(seconds)
            logged += len(printed(lambda: answer.update(handler(event, None))))
        text = str(answer["body"])
        return CallUsage(
            request_bytes=len(request),
            answer_bytes=len(base64.b64decode(text) if answer["isBase64Encoded"] else text.encode()),
            log_bytes=round(logged / calls + (len(sampled) - len(plain)) / ONE_OF),
            read_units=sum(self._meter.reads.values()) / calls,
            write_units=sum(self._meter.writes.values()) / calls,
        )

    def _publish(self) -> None:
        """Warm-up events that find old data log each of it."""
        assert self._stack.run_watcher_once()["outcome"] == WatcherOutcome.HANDED_OVER

    def decision_items(self, names: Sequence[str]) -> list[int]:
        """Bytes of the items that one decision leaves: a call of each verb that records."""
        for verb in DECIDING_VERBS:
            event = {"headers": {}, "body": orjson.dumps(arguments_of(verb, names)).decode(), "isBase64Encoded": False}
            self._handlers[verb](event, None)
        client: DynamoDBClient = boto3.client("dynamodb")
        for _ in range(100):
            items = client.scan(TableName=self._store.cache_table)["Items"]
            sizes = [item_size(each) for each in items if each["pk"]["S"].startswith("decision")]
            if len(sizes) >= len(DECIDING_VERBS):
                return sizes
            time.sleep(0.1)  # a thread writes them
        raise AssertionError(f"{len(sizes)} items of {len(DECIDING_VERBS)} decisions")

    def run(self, mode: str) -> PeriodicUsage:
        """A run of the watcher that has nothing to change. A continuous one must not be needed."""
        self._meter.clear()
        if mode == "periodic":
            assert self._stack.run_watcher_once()["outcome"] == WatcherOutcome.HANDED_OVER
        else:
            assert self._stack.run_watcher(LocalLambdaContext(20.0))["outcome"] == WatcherOutcome.NOT_NEEDED
        reads = sum(number for kind, number in self._meter.reads.items() if kind != "snapshot")
        return PeriodicUsage(read_units=reads, write_units=sum(self._meter.writes.values()))

    @contextmanager
    def led_by_another(self) -> Iterator[None]:
        """The head has a leader that stays."""
        client: DynamoDBClient = boto3.client("dynamodb")
        lock = DynamoDBLeaseLock(client, self._store.cache_table)
        elector = LeaderElector(lock, LeaderElectionConfig(), "another", SystemClock(), lambda: 0.0)
        assert elector.step().outcome is ElectionOutcome.BECAME_LEADER
        yield
        elector.release()


@contextmanager
def running(nodes: int, **configuration: str) -> Iterator[CountedStack]:
    """A cluster of so many nodes. moto has one store for a process, so each has tables of its own."""
    # What was published counts for as long as the clocks are put forward.
    document = BerthConfiguration.model_validate({"nodeCache": {"maxStaleness": 86400}, **configuration})
    shifted = _ShiftedTime()
    with tempfile.TemporaryDirectory() as directory, shifted.installed():
        dump = Path(directory) / "cluster.json"
        dump.write_bytes(orjson.dumps({"kind": "List", "items": [*_labelled(nodes), _waiting_pod()]}))
        before = os.environ.copy()
        try:
            number = next(_STORES)
            store = MotoDynamoDB().install(DynamoDBStore(f"usage-cache-{number}", f"usage-ledger-{number}"))
            meter = Meter(boto3._get_default_session())  # before the clients are made
            cluster = local_stack.dump_environment(dump)
            stack = local_stack.start(document, cluster, log_level="INFO", store=store)
            assert stack.run_watcher_once()["outcome"] == WatcherOutcome.HANDED_OVER
            os.environ["POWERTOOLS_METRICS_DISABLED"] = "false"
            os.environ["AWS_LAMBDA_FUNCTION_NAME"] = os.environ["BERTH_STACK"] = "berth-production"
            os.environ["BERTH_AUTHENTICATION"] = "basic"  # the authorizer has let the calls through
            yield CountedStack(stack, store, meter, shifted)
        finally:
            os.environ.clear()
            os.environ.update(before)


_STORES = itertools.count(1)


def _labelled(nodes: int) -> Iterator[dict[str, Any]]:
    for index, node in enumerate(large_cluster.nodes(nodes)):
        node["metadata"]["labels"]["priority.lixueduan.com"] = str(index % 100)
        yield {"kind": "Node", "apiVersion": "v1", **node}


def _waiting_pod() -> dict[str, Any]:
    metadata = {"name": "train-0", "namespace": "ml", "uid": "uid-train-0", "resourceVersion": "1"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": [{"name": "main"}]}}


def printed(call: Callable[[], object]) -> bytes:
    """The log lines that a call writes."""
    found = io.StringIO()
    handlers = [each for each in logging.getLogger(SERVICE).handlers if isinstance(each, logging.StreamHandler)]
    with ExitStack() as restored:
        restored.enter_context(redirect_stdout(found))
        for handler in handlers:
            restored.callback(handler.setStream, handler.stream)
            handler.setStream(found)
        call()
    return found.getvalue().encode()


def arguments_of(verb: str, names: Sequence[str]) -> Mapping[str, object]:
    if verb == "bind":
        return {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid-train-0", "Node": names[0]}
    pod = {"metadata": {"name": "train-0", "namespace": "ml", "uid": "uid-train-0"}, "spec": {}}
    return {"Pod": pod, "Nodes": None, "NodeNames": names}
