"""From a change in the API server to a verb that decides on it: the real watcher and reader, the table embedded.

The wall clock, unlike the other figures: what is measured is mostly the flush interval of half a second.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
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

NODES = 200
EVENTS = 50
TARGET_SECONDS = 1.5
POLL_SECONDS = 0.005
TIMEOUT_SECONDS = 30.0

Labels = dict[str, str]


def families() -> Iterator[Family]:
    """One family."""
    yield Family("cache.event_to_visible", measure)


def measure(events: int = EVENTS) -> Iterator[Figure]:
    """From this many changes of a node's label."""
    seconds = sorted(_seconds(events))
    yield Figure("cache.event_to_visible.p50", median(seconds), "s")
    # With so few events the maximum stands for the 99th percentile.
    yield Figure("cache.event_to_visible.p99", seconds[-1], "s", TARGET_SECONDS)


def _seconds(events: int) -> Iterator[float]:
    draw = random.Random(7)
    before = os.environ.copy()
    with verified_kubernetes() as kubernetes, tempfile.TemporaryDirectory() as folder:
        kubernetes.nodes = [labelled_object(f"node-{index}", "0") for index in range(NODES)]
        source = local_stack.kubeconfig_environment(kubeconfig_for(kubernetes.host, Path(folder), kubernetes.authority))
        store = local_stack.memory_store(BerthConfiguration(), source)
        stack = local_stack.start(BerthConfiguration(), source, store=store)
        with tables_opened_by(store.open):
            cache = node_cache(PolicySettings.from_environ(os.environ), "bench")
        stack.run_watcher_once()
        with watcher_thread(stack.run_watcher):
            for number in range(1, events + 1):
                time.sleep(draw.uniform(0.1, 0.6))
                index = draw.randrange(NODES)
                changed = time.monotonic()
                kubernetes.nodes[index] = labelled_object(f"node-{index}", str(number))
                while (snapshot := cache.current().cluster) and not _shows(snapshot, f"node-{index}", number):
                    assert time.monotonic() - changed < TIMEOUT_SECONDS, f"node-{index} is not seen as it is"
                    time.sleep(POLL_SECONDS)
                yield time.monotonic() - changed
    os.environ.clear()
    os.environ.update(before)


def _shows(cluster: object, node: str, value: int) -> bool:
    return isinstance(cluster, Snapshot) and cluster.nodes[node].labels.get(PRIORITY) == str(value)
