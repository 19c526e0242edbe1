"""What the real code uses, counted: `python -m tests.capacity.usage` writes tools/cost/usage.json.

The handlers of the template's functions run on the embedded DynamoDB, with a cluster dump. Counted are the units of
their requests (by the sizes of items), the bytes of their log lines, and the bytes of their compressed answers. The
time that watchers run, their leases and their reads come from a simulated day (tests/simulation/nodecache/day.py), the
units of publications from the model that tests/unit/capacity compares with real requests, and those of gangs from binds
in virtual time.
"""

from __future__ import annotations

import base64
import io
import itertools
import logging
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
import orjson
from pydantic import TypeAdapter

from berth.configuration.counting_loss import REFRESH_SECONDS
from berth.decisions.sampled_log import ONE_OF
from berth.lease.clock import SystemClock
from berth.lease.config import LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.lease.outcomes import ElectionOutcome
from berth.nodecache.feed.watcher import WatcherOutcome
from berth.nodecache.feed.writer import Retention
from berth.nodecache.warm_node_cache import Freshness
from berth.runtime.http.events import WARM_UP_EVENT
from berth.runtime.telemetry.call_log import SERVICE
from berth.runtime.telemetry.metrics import CacheMetrics
from berth.runtime.telemetry.telemetry import Telemetry
from berth.runtime.telemetry.watcher_metrics import INTERVAL_SECONDS, WatcherMetrics
from berth.runtime.watcher.warm_up import INTERVAL_SECONDS as WARM_UP_SECONDS
from berth.runtime.watcher.watcher_function import CONFIGURATION_SECONDS
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.serve import local_stack
from berth_cli.serve.functions import load_handler
from berth_cli.serve.local_stack import LocalStack
from berth_cli.serve.stores import DynamoDBStore
from berth_cli.serve.template_api import read_template_api
from berth_cli.serve.watcher_thread import LocalLambdaContext
from tests.bench import large_cluster
from tests.capacity.gang_units import gang_units
from tests.capacity.item_size import item_size, write_units
from tests.capacity.metered_feed import Meter
from tests.capacity.model import Load, snapshot_load_units, units
from tests.capacity.sizes import HEAD_BYTES, HEAD_BYTES_SPREADING
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tests.simulation.nodecache.day import DAY, Ages, Arrangement, Day, Request, outside, quiet
from tools.cost.usage import (
    USAGE,
    CallUsage,
    ClusterUsage,
    OptionUsage,
    PeriodicUsage,
    RunUsage,
    Usage,
    WatcherUsage,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SIZES = (100, 500, 1_000, 5_000)
PLACED_A_SECOND, CHANGES_OF_A_POD = 1.0, 4
"""The load of the decisions. A pod changes when it is created, placed, running and deleted."""

Handler = Callable[[Mapping[str, object], object], Any]


VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
"""Those that the watcher warms up."""

DECIDING_VERBS = ("filter", "prioritize", "bind")
"""Those of one decision."""

WARM_UPS = 30
"""Counted events: some of what they do is done once in a minute."""

GANG_MEMBERS = 8
OPTIONS_NODES = 500


SEEDS = (1, 2, 3, 4)
"""Days differ by a hundredth, which are ten cents a month."""


def simulated(begin: Callable[[int], Arrangement], seconds: float) -> Ages:
    """What so many seconds of each of these days bring together."""
    days = [Day(replace(begin(seed), duration=seconds)).run() for seed in SEEDS]
    requests: Counter[Request] = sum((day.requests for day in days), Counter())
    return Ages(
        hand_overs=sum(day.hand_overs for day in days),
        running=sum(day.running for day in days),
        starts=sum(day.starts for day in days),
        requests=requests,
    )


def with_standby(seed: int) -> Arrangement:
    return replace(quiet(seed), standby=True)


def count(sizes: tuple[int, ...] = SIZES, seconds: float = DAY) -> Usage:
    """In this process, which must have no other embedded tables. seconds: of each simulated day."""
    return Usage(watcher_usage(seconds), option_usage(), [cluster_usage(nodes) for nodes in sizes])


def cluster_usage(nodes: int) -> ClusterUsage:
    """Calls on a cluster of this size whose nodes all have the label that the default profile scores."""
    with _stack(nodes) as stack:
        names = [large_cluster.node_name(index) for index in range(nodes)]
        calls = {name: stack.count(name, _arguments(name, names)) for name in DECIDING_VERBS}
        warm_ups = {name: stack.count(name, None) for name in VERBS}
    idle = units(Load(nodes, pod_changes=1e-6, calls=0.0))
    # With this profile only preempt reads pods, and nobody calls it: its environment follows the log by warm-ups.
    loaded = units(Load(nodes, PLACED_A_SECOND * CHANGES_OF_A_POD, calls=0.0, environments=1))
    # With hardly a change the model compacts by age alone.
    assert idle.snapshot_writes * Retention().compaction_age >= 1
    return ClusterUsage(
        nodes=nodes,
        calls=calls,
        warm_ups=warm_ups,
        idle_head_write_units_a_second=_digits(idle.head_writes),
        idle_snapshot_write_units_a_second=_digits(idle.snapshot_writes),
        write_units_a_decision=_digits(
            (loaded.head_writes + loaded.log_writes + loaded.snapshot_writes - idle.head_writes - idle.snapshot_writes)
            / PLACED_A_SECOND
        ),
        log_read_units_a_decision=_digits(loaded.log_reads / PLACED_A_SECOND),
        snapshot_load_read_units=_digits(snapshot_load_units(nodes)),
    )


def watcher_usage(seconds: float = DAY) -> WatcherUsage:
    """Of an idle cluster. The reads of the configuration, which the simulated day leaves out, are those of real runs:
    one that is not needed, and one that leads."""
    with _stack(1) as stack:
        leading = stack.run("periodic")
        with stack.led_by_another():
            waiting = stack.run("continuous")
    at_start = waiting.read_units - READS_OF_A_SIMULATED_START
    as_leader = leading.read_units - waiting.read_units - READS_OF_A_SIMULATED_LEADER

    def runs(begin: Callable[[int], Arrangement]) -> RunUsage:
        day, all_seconds = simulated(begin, seconds), seconds * len(SEEDS)
        reads = day.requests[Request.READ] + day.starts * at_start + day.hand_overs * as_leader
        return RunUsage(
            running_share=_digits(day.running / all_seconds),
            # A run looks for another configuration with an eventually consistent read.
            read_units=_digits(reads / all_seconds + day.running / all_seconds / CONFIGURATION_SECONDS / 2),
            write_units=_digits(day.requests[Request.WRITE] / all_seconds),
            snapshot_loads=_digits(day.requests[Request.LOAD] / all_seconds),
            terms=_digits(day.hand_overs / all_seconds),
        )

    publication, run = _printed(_publish), _printed(_end_run)
    return WatcherUsage(
        continuous=runs(quiet),
        with_standby=runs(with_standby),
        external=runs(outside),
        periodic=leading,
        metric_line_bytes=len(publication),
        metric_lines_a_minute=60 / INTERVAL_SECONDS,
        run_line_bytes=len(run),
        warm_ups_a_minute=60 / WARM_UP_SECONDS,
        metrics=len(_metrics(publication) | _metrics(_printed(_read_cache))),
    )


READS_OF_A_SIMULATED_START = 1
"""Of the lease."""
READS_OF_A_SIMULATED_LEADER = 2
"""Of the head, before the snapshot is loaded, and of the lease at the release."""


def option_usage() -> OptionUsage:
    """Beyond the default, at the load of the decisions."""
    quiet_load = Load(OPTIONS_NODES, pod_changes=1e-6, calls=0.0)
    load = Load(OPTIONS_NODES, PLACED_A_SECOND * CHANGES_OF_A_POD, calls=2 * PLACED_A_SECOND)
    larger = write_units(HEAD_BYTES_SPREADING) - write_units(HEAD_BYTES)
    idle_heads, heads = (units(each).publications * larger for each in (quiet_load, load))
    alone = units(replace(load, calls=0.0, environments=1)).log_reads
    with _stack(OPTIONS_NODES, decisions="table") as stack:
        names = [large_cluster.node_name(index) for index in range(OPTIONS_NODES)]
        decisions = stack.decision_items(names)
    member_reads, member_writes = gang_units(GANG_MEMBERS)
    return OptionUsage(
        full_idle_write_units_a_second=_digits(idle_heads),
        full_write_units_a_decision=_digits((heads - idle_heads) / PLACED_A_SECOND),
        full_read_units_a_decision=_digits((units(load).log_reads - alone) / PLACED_A_SECOND),
        decision_write_units=sum(map(write_units, decisions)),
        decision_bytes=sum(decisions),
        gang_members=GANG_MEMBERS,
        member_read_units=_digits(member_reads),
        member_write_units=_digits(member_writes),
    )


def _arguments(verb: str, names: Sequence[str]) -> Mapping[str, object]:
    if verb == "bind":
        return {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid-train-0", "Node": names[0]}
    pod = {"metadata": {"name": "train-0", "namespace": "ml", "uid": "uid-train-0"}, "spec": {}}
    return {"Pod": pod, "Nodes": None, "NodeNames": names}


def _publish() -> None:
    metrics = WatcherMetrics(lambda: 1_772_000_000.123)
    metrics.published(0, 1_771_999_990.0)


def _end_run() -> None:
    telemetry = Telemetry("watcher")
    with telemetry.traced():
        telemetry.ended(
            WatcherOutcome.NOT_NEEDED,
            pod="",
            detail="watcher_0d2f6a52-5d2f-4a4e-9d5e-111111111111 leads and will not hand over soon",
            milliseconds=12.345,
            failed=False,
        )


def _read_cache() -> None:
    CacheMetrics("filter").record(Freshness(age=1.5, lag=None))


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


class _Stack:
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
        handler(event, None)
        # The second call of an environment also logs its decision, as one of a hundred does.
        sampled = _printed(lambda: handler(event, None))
        plain = _printed(lambda: handler(event, None))
        self._meter.clear()
        logged = 0
        for _ in range(calls):
            self._time.advance(seconds)
            logged += len(_printed(lambda: answer.update(handler(event, None))))
        text = str(answer["body"])
        return CallUsage(
            request_bytes=len(request),
            answer_bytes=len(base64.b64decode(text) if answer["isBase64Encoded"] else text.encode()),
            log_bytes=round(logged / calls + (len(sampled) - len(plain)) / ONE_OF),
            read_units=sum(self._meter.reads.values()) / calls,
            write_units=sum(self._meter.writes.values()) / calls,
        )

    def decision_items(self, names: Sequence[str]) -> list[int]:
        """Bytes of the items that one decision leaves: a call of each verb that records."""
        for verb in DECIDING_VERBS:
            event = {"headers": {}, "body": orjson.dumps(_arguments(verb, names)).decode(), "isBase64Encoded": False}
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
def _stack(nodes: int, **configuration: str) -> Iterator[_Stack]:
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
            yield _Stack(stack, store, meter, shifted)
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


def _printed(call: Callable[[], object]) -> bytes:
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


def _metrics(lines: bytes) -> set[str]:
    """The names of the metrics in log lines."""
    found: set[str] = set()
    for line in lines.splitlines():
        for each in orjson.loads(line).get("_aws", {}).get("CloudWatchMetrics", ()):
            found |= {metric["Name"] for metric in each["Metrics"]}
    return found


def _digits(value: float) -> float:
    return 0.0 if value == 0 else round(value, 3 - math.floor(math.log10(abs(value))))


def main() -> None:
    """Write the counts."""
    os.environ.setdefault("BERTH_STACK", "berth-production")
    USAGE.write_bytes(TypeAdapter(Usage).dump_json(count(), indent=2) + b"\n")


if __name__ == "__main__":
    main()
