"""From a change in the API server to a verb that decides on it: the real watcher and reader, the table embedded.

The wall clock, unlike the other figures: what is measured is how long a change waits for its publication. The API
server of this benchmark sends an event up to 20 ms after its change.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from berth.runtime.adapters import node_cache
from berth.runtime.settings import PolicySettings
from berth.runtime.tables import tables_opened_by
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.serve import local_stack
from berth_cli.serve.watcher_thread import watcher_thread
from tests.bench.figures import Family, Figure
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import PRIORITY, labelled_object
from tests.fakes.api_server import verified_kubernetes

NODES, CHANGED = 200, "1"
PACES = {"": (50, 0.7), ".20_a_second": (200, 0.1)}
"""How many changes, and the longest pause between two, in seconds: half of it on average."""

P50_SECONDS, WORST_SECONDS = 0.05, 0.2
POLL_SECONDS = 0.002
TIMEOUT_SECONDS = 30.0


def families() -> Iterator[Family]:
    """One family."""
    yield Family("cache.event_to_visible", measure)


def measure(most: int = NODES) -> Iterator[Figure]:
    """Of changes of a node's label, at most so many at each pace."""
    for pace, (events, pause) in PACES.items():
        seconds = _seconds(min(events, most), pause)
        yield Figure(f"cache.event_to_visible{pace}.p50", median(seconds), "s", P50_SECONDS)
        # With so few events the maximum stands for the 99th percentile.
        yield Figure(f"cache.event_to_visible{pace}.p99", max(seconds), "s", WORST_SECONDS)


def _seconds(events: int, pause: float) -> list[float]:
    before = os.environ.copy()
    with verified_kubernetes() as kubernetes, tempfile.TemporaryDirectory() as folder:
        kubernetes.nodes = [labelled_object(f"node-{index}", "0") for index in range(NODES)]
        source = local_stack.kubeconfig_environment(kubeconfig_for(kubernetes.host, Path(folder), kubernetes.authority))
        store = local_stack.memory_store(BerthConfiguration(), source)
        stack = local_stack.start(BerthConfiguration(), source, store=store)
        with tables_opened_by(store.open):
            cache = node_cache(PolicySettings.from_environ(os.environ), "bench")
        stack.run_watcher_once()

        def change(index: int) -> None:
            kubernetes.nodes[index] = labelled_object(f"node-{index}", CHANGED)

        with watcher_thread(stack.run_watcher):
            found = _until_visible(change, lambda: cache.current().cluster, events, pause)
    os.environ.clear()
    os.environ.update(before)
    return found


def _until_visible(
    change: Callable[[int], None], current: Callable[[], object], events: int, pause: float
) -> list[float]:
    """change: the label of one node. Of each change the seconds until a verb sees it. Each is of another node."""
    draw, found = random.Random(7), list[float]()
    waiting: dict[int, float] = {}
    coming, next_at = list(range(events)), time.monotonic() + 1
    while coming or waiting:
        now, cluster = time.monotonic(), current()
        for index, changed_at in list(waiting.items()):
            if isinstance(cluster, Snapshot) and cluster.nodes[f"node-{index}"].labels.get(PRIORITY) == CHANGED:
                found.append(time.monotonic() - changed_at)
                del waiting[index]
            assert now - changed_at < TIMEOUT_SECONDS, f"node-{index} is not seen as it is"
        if coming and now >= next_at:
            waiting[coming[-1]] = time.monotonic()
            change(coming.pop())
            next_at = now + draw.uniform(0, pause)
        time.sleep(POLL_SECONDS)
    return found
