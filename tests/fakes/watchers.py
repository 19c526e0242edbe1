"""Watchers for tests: ids that count, a clock that a test drives."""

from __future__ import annotations

from itertools import count

from berth.nodecache.cluster import Nodes, SchedulingQueue
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.table import CacheTable
from berth.nodecache.watcher import Watcher
from tests.fakes.clock import HandDrivenClock
from tests.fakes.cluster import RecordingQueue


def watcher_of(
    nodes: Nodes,
    table: CacheTable,
    *,
    queue: SchedulingQueue | None = None,
    clock: HandDrivenClock | None = None,
    name: str = "snapshot",
) -> Watcher:
    """A watcher in an environment of its own; its snapshots are called `name`-1, `name`-2 and so on."""
    clock = clock or HandDrivenClock()
    numbers = count(1)
    return Watcher(
        nodes,
        table,
        NodeCacheReader(table, clock.sleep),
        queue or RecordingQueue(),
        clock=clock,
        new_id=lambda: f"{name}-{next(numbers)}",
    )
