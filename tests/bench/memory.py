"""The memory of cached verdicts and scores."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from tests.bench import cluster
from tests.bench.figures import Family, Figure

SHAPES, NODES = 100, 5_000


def families() -> Iterator[Family]:
    """Of the profile full, after filter and after prioritize."""
    yield Family("memory.full", _measure)


def _measure() -> Iterator[Figure]:
    snapshot, names = cluster.snapshot(NODES), next(cluster.requested_names(NODES))
    pods = [read_pod(cluster.pod_manifest(index)) for index in range(SHAPES)]
    policy = BerthConfiguration(profile="full").policy()
    gc.collect()
    tracemalloc.start()
    try:
        for pod in pods:
            assert isinstance(pod, Pod)
            policy.feasibility(pod, names, snapshot)
        gc.collect()
        yield Figure(f"memory.full.filter.{SHAPES}_shapes.{NODES}", tracemalloc.get_traced_memory()[0] / 1e6, "MB")
        for pod in pods:
            assert isinstance(pod, Pod)
            policy.scores(pod, names, snapshot)
        gc.collect()
        yield Figure(f"memory.full.all.{SHAPES}_shapes.{NODES}", tracemalloc.get_traced_memory()[0] / 1e6, "MB")
    finally:
        tracemalloc.stop()
