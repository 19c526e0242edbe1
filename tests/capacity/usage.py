"""What the real code uses, counted: `python -m tests.capacity.usage` writes tools/cost/usage.json.

The handlers of the template's functions run on the embedded DynamoDB, with a cluster dump. Counted are the units of
their requests (by the sizes of items), the bytes of their log lines, and the bytes of their compressed answers. The
share of time in which the watcher runs comes from a simulated day (tests/simulation/nodecache/day.py), the units of
publications from the model that tests/unit/capacity compares with real requests.
"""

from __future__ import annotations

import base64
import io
import logging
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import boto3
import orjson
from pydantic import TypeAdapter

from berth.nodecache.feed.watcher import WatcherOutcome
from berth.nodecache.feed.writer import Retention
from berth.runtime.telemetry.call_log import SERVICE
from berth.runtime.telemetry.telemetry import Telemetry
from berth.runtime.telemetry.watcher_metrics import INTERVAL_SECONDS, WatcherMetrics
from berth.runtime.watcher.warm_up import INTERVAL_SECONDS as WARM_UP_SECONDS
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.serve import local_stack
from berth_cli.serve.functions import load_handler
from berth_cli.serve.stores import DynamoDBStore
from berth_cli.serve.template_api import read_template_api
from tests.bench import large_cluster
from tests.capacity.metered_feed import Meter
from tests.capacity.model import Load, units
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tools.cost.usage import USAGE, CallUsage, ClusterUsage, Usage, WatcherUsage

SIZES = (100, 500, 1_000, 5_000)
PLACED_A_SECOND, CHANGES_OF_A_POD = 1.0, 4
"""The load of the decisions. A pod changes when it is created, placed, running and deleted."""

Handler = Callable[[Mapping[str, object], object], Any]


def count(sizes: tuple[int, ...] = SIZES, running_share: float | None = None) -> Usage:
    """In this process, which must have no other embedded tables. running_share: None to simulate a day."""
    return Usage(watcher_usage(running_share), [cluster_usage(nodes) for nodes in sizes])


def cluster_usage(nodes: int) -> ClusterUsage:
    """Calls on a cluster of this size whose nodes all have the label that the default profile scores."""
    with _stack(nodes) as (handlers, meter):
        names = [large_cluster.node_name(index) for index in range(nodes)]
        pod = {"metadata": {"name": "train-0", "namespace": "ml", "uid": "uid-train-0"}, "spec": {}}
        arguments = {"Pod": pod, "Nodes": None, "NodeNames": names}
        binding = {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid-train-0", "Node": names[0]}
        calls = {
            "filter": _count(handlers["filter"], meter, arguments),
            "prioritize": _count(handlers["prioritize"], meter, arguments),
            "bind": _count(handlers["bind"], meter, binding),
        }
        warm_up = _count(handlers["filter"], meter, None)
    idle = units(Load(nodes, pod_changes=1e-6, calls=0.0))
    # With this profile only preempt reads pods, and nobody calls it: its environment follows the log by warm-ups.
    loaded = units(Load(nodes, PLACED_A_SECOND * CHANGES_OF_A_POD, calls=0.0, environments=1))
    # With hardly a change the model compacts by age alone.
    assert idle.snapshot_writes * Retention().compaction_age >= 1
    return ClusterUsage(
        nodes=nodes,
        calls=calls,
        warm_up=warm_up,
        idle_write_units_a_second=_digits(idle.head_writes + idle.snapshot_writes),
        write_units_a_decision=_digits(
            (loaded.head_writes + loaded.log_writes + loaded.snapshot_writes - idle.head_writes - idle.snapshot_writes)
            / PLACED_A_SECOND
        ),
        log_read_units_a_decision=_digits(loaded.log_reads / PLACED_A_SECOND),
    )


def watcher_usage(running_share: float | None = None) -> WatcherUsage:
    """Of an idle cluster."""
    if running_share is None:
        from tests.simulation.nodecache.day import DAY, Day, quiet

        running_share = Day(quiet(seed=1)).run().running / DAY
    return WatcherUsage(
        running_share=_digits(running_share),
        metric_line_bytes=_printed(_publish),
        metric_lines_a_minute=60 / INTERVAL_SECONDS,
        run_line_bytes=_printed(_end_run),
        warm_ups_a_minute=60 / WARM_UP_SECONDS,
    )


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


@contextmanager
def _stack(nodes: int) -> Iterator[tuple[Mapping[str, Handler], Meter]]:
    """The functions as Lambda has them, and a published cluster."""
    with tempfile.TemporaryDirectory() as directory:
        dump = Path(directory) / "cluster.json"
        dump.write_bytes(orjson.dumps({"kind": "List", "items": [*_labelled(nodes), _waiting_pod()]}))
        before = os.environ.copy()
        try:
            store = MotoDynamoDB().install(DynamoDBStore("usage-cache", "usage-ledger"))
            cluster = local_stack.dump_environment(dump)
            stack = local_stack.start(BerthConfiguration(), cluster, log_level="INFO", store=store)
            assert stack.run_watcher_once()["outcome"] == WatcherOutcome.HANDED_OVER
            os.environ["POWERTOOLS_METRICS_DISABLED"] = "false"
            os.environ["AWS_LAMBDA_FUNCTION_NAME"] = os.environ["BERTH_STACK"] = "berth-production"
            os.environ["BERTH_AUTHENTICATION"] = "basic"  # the authorizer has let the calls through
            sources = {source.code.name: source for source in read_template_api().functions.values()}
            meter = Meter(boto3._get_default_session())
            yield {name: load_handler(sources[name]) for name in ("filter", "prioritize", "bind")}, meter
        finally:
            os.environ.clear()
            os.environ.update(before)


def _labelled(nodes: int) -> Iterator[dict[str, Any]]:
    for index, node in enumerate(large_cluster.nodes(nodes)):
        node["metadata"]["labels"]["priority.lixueduan.com"] = str(index % 100)
        yield {"kind": "Node", "apiVersion": "v1", **node}


def _waiting_pod() -> dict[str, Any]:
    metadata = {"name": "train-0", "namespace": "ml", "uid": "uid-train-0", "resourceVersion": "1"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": [{"name": "main"}]}}


def _count(handler: Handler, meter: Meter, body: Mapping[str, object] | None) -> CallUsage:
    """A warm call. body: None for a warm-up event."""
    event: Mapping[str, object] = {"source": "berth.warm-up"}
    request = b"" if body is None else orjson.dumps(body)
    if body is not None:
        event = {"headers": {"accept-encoding": "gzip"}, "body": request.decode(), "isBase64Encoded": False}
    # The second call of an environment also logs its decision, as one of a hundred does.
    for _ in range(2):
        handler(event, None)
    answer: dict[str, Any] = {}
    meter.reads.clear()
    meter.writes.clear()
    logged = _printed(lambda: answer.update(handler(event, None)))
    text = str(answer["body"])
    return CallUsage(
        request_bytes=len(request),
        answer_bytes=len(base64.b64decode(text) if answer["isBase64Encoded"] else text.encode()),
        log_bytes=logged,
        read_units=sum(meter.reads.values()),
        write_units=sum(meter.writes.values()),
    )


def _printed(call: Callable[[], object]) -> int:
    """Bytes of the log lines that a call writes."""
    found = io.StringIO()
    handlers = [each for each in logging.getLogger(SERVICE).handlers if isinstance(each, logging.StreamHandler)]
    with ExitStack() as restored:
        restored.enter_context(redirect_stdout(found))
        for handler in handlers:
            restored.callback(handler.setStream, handler.stream)
            handler.setStream(found)
        call()
    return len(found.getvalue().encode())


def _digits(value: float) -> float:
    return 0.0 if value == 0 else round(value, 3 - math.floor(math.log10(abs(value))))


def main() -> None:
    """Write the counts."""
    os.environ.setdefault("BERTH_STACK", "berth-production")
    USAGE.write_bytes(TypeAdapter(Usage).dump_json(count(), indent=2) + b"\n")


if __name__ == "__main__":
    main()
