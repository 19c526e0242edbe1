"""What the real code uses, counted: `python -m tests.capacity.usage` writes tools/cost/usage.json.

The handlers of the template's functions run on the embedded DynamoDB, with a cluster dump. Counted are the units of
their requests (by the sizes of items), the bytes of their log lines, and the bytes of their compressed answers. The
time that watchers run, their leases and their reads come from a simulated day (tests/simulation/nodecache/day.py), the
units of publications from the model that tests/unit/capacity compares with real requests, and those of gangs from binds
in virtual time.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson
from pydantic import TypeAdapter

from berth.nodecache.feed.watcher import WatcherOutcome
from berth.nodecache.feed.writer import Retention
from berth.nodecache.warm_node_cache import Freshness
from berth.runtime.telemetry.metrics import CacheMetrics
from berth.runtime.telemetry.telemetry import Telemetry
from berth.runtime.telemetry.watcher_metrics import INTERVAL_SECONDS, WatcherMetrics
from berth.runtime.watcher.warm_up import INTERVAL_SECONDS as WARM_UP_SECONDS
from berth.runtime.watcher.watcher_function import CONFIGURATION_SECONDS
from tests.bench import large_cluster
from tests.capacity.counted_stack import DECIDING_VERBS, PLACED_A_SECOND, VERBS, arguments_of, printed, running
from tests.capacity.gang_units import gang_units
from tests.capacity.item_size import write_units
from tests.capacity.model import Load, snapshot_load_units, units
from tests.capacity.sizes import HEAD_BYTES, HEAD_BYTES_SPREADING
from tests.simulation.nodecache.day import DAY, Ages, Arrangement, Day, Request, outside, quiet
from tools.cost.usage import (
    USAGE,
    ClusterUsage,
    OptionUsage,
    RunUsage,
    Usage,
    WatcherUsage,
)

if TYPE_CHECKING:
    pass

SIZES = (100, 500, 1_000, 5_000)
CHANGES_OF_A_POD = 4
"""When it is created, placed, running and deleted."""

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
    with running(nodes) as stack:
        names = [large_cluster.node_name(index) for index in range(nodes)]
        calls = {name: stack.count(name, arguments_of(name, names)) for name in DECIDING_VERBS}
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
    with running(1) as stack:
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

    publication, run = printed(_publish), printed(_end_run)
    return WatcherUsage(
        continuous=runs(quiet),
        with_standby=runs(with_standby),
        external=runs(outside),
        periodic=leading,
        metric_line_bytes=len(publication),
        metric_lines_a_minute=60 / INTERVAL_SECONDS,
        run_line_bytes=len(run),
        warm_ups_a_minute=60 / WARM_UP_SECONDS,
        metrics=len(_metrics(publication) | _metrics(printed(_read_cache))),
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
    with running(OPTIONS_NODES, decisions="table") as stack:
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
    CacheMetrics("filter", time.time).record(Freshness(age=1.5, lag=None))


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
