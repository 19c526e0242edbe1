"""Units a second by partition key and their monthly costs, by the size of a cluster and its rate of changes.

Changes come at random (Poisson). One is published at once if half a second has passed since the last that was, else at
the end of it; a heartbeat comes a second and a half after the last publication (`feed/leader.PublishIntervals`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from berth.nodecache.feed.leader import PublishIntervals
from berth.nodecache.feed.writer import Retention
from berth.runtime.watcher.warm_up import INTERVAL_SECONDS as WARM_UP_SECONDS
from tests.capacity.item_size import read_units, write_units
from tests.capacity.sizes import HEAD_BYTES, LOG_ITEM_KEYS, packed_pod_changes, snapshot_bytes_per_node
from tools.cost.prices import READ_UNIT, WRITE_UNIT

PARTITION_WRITE_UNITS = 1_000
PARTITION_READ_UNITS = 3_000
CHUNK_BYTES = 65_000

MONTH = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Load:
    """pod_changes: per second. calls: of the verbs whose policy reads pods, per second. environments: their warm ones.

    A verb whose policy reads nodes alone reads nothing for changes of pods.
    """

    nodes: int
    pod_changes: float
    calls: float
    environments: int = 4


@dataclass(frozen=True, slots=True)
class Units:
    """Units a second by key. Each snapshot chunk has its own key, so only the cost includes snapshots."""

    publications: float
    changes_a_flush: float
    flush_bytes: float
    head_writes: float
    log_writes: float
    snapshot_writes: float
    head_reads: float
    log_reads: float
    dollars_a_month: float


def units(load: Load, pace: PublishIntervals | None = None, retention: Retention | None = None) -> Units:
    """All of it."""
    pace, retention = pace or PublishIntervals(), retention or Retention()
    rate = load.pod_changes
    flushes = 1 / (pace.flush + math.exp(-rate * pace.flush) / rate)
    heartbeats = flushes * math.exp(-rate * pace.heartbeat) / -math.expm1(-rate * pace.heartbeat)
    publications = flushes + heartbeats
    changes = max(1.0, rate / flushes)
    flush_bytes = packed_pod_changes(round(changes))
    head_writes = write_units(HEAD_BYTES) * publications
    log_writes = flushes * write_units(round(flush_bytes) + LOG_ITEM_KEYS)
    snapshot = load.nodes * snapshot_bytes_per_node()
    log_rate = flushes * flush_bytes
    compaction = min(max(snapshot, retention.least_log_bytes) / log_rate, retention.compaction_age)
    snapshot_writes = (snapshot / 1024 + snapshot / CHUNK_BYTES) / compaction
    # An environment reads new changes when it is called or warmed up, at most once per publication.
    looks = min(flushes, load.calls / load.environments + 1 / WARM_UP_SECONDS)
    log_reads = load.environments * looks * read_units(round(log_rate / looks))
    # A warm-up event reads eventually consistent.
    head_reads = load.calls + load.environments / WARM_UP_SECONDS / 2
    writes, reads = head_writes + log_writes + snapshot_writes, head_reads + log_reads
    dollars = (writes * WRITE_UNIT.dollars + reads * READ_UNIT.dollars) * MONTH
    return Units(
        publications, changes, flush_bytes, head_writes, log_writes, snapshot_writes, head_reads, log_reads, dollars
    )


def snapshot_load_units(nodes: int) -> float:
    """Read units of all chunks of a snapshot, which are read eventually consistent."""
    size = nodes * snapshot_bytes_per_node()
    full, rest = divmod(size, CHUNK_BYTES)
    return (full * read_units(CHUNK_BYTES) + read_units(round(rest))) / 2


def changes_that_fill_a_partition() -> float:
    """Pod changes a second at which the log uses all write units of one partition key."""
    low, high = 1.0, 1e6
    while high - low > 1:
        middle = (low + high) / 2
        filled = units(Load(5_000, middle, 1)).log_writes > PARTITION_WRITE_UNITS
        low, high = (low, middle) if filled else (middle, high)
    return low


def environments_that_fill_a_partition(load: Load) -> int:
    """Warm environments that can read every publication within the read units of one partition key."""
    found = units(load)
    flushes = found.log_writes / write_units(round(found.flush_bytes) + LOG_ITEM_KEYS)
    return int(PARTITION_READ_UNITS / (flushes * read_units(round(found.flush_bytes))))
