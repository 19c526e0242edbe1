"""Growth of the cost with the number of nodes, in microseconds per node.

Each size is measured by itself: between calls of another size its nodes would leave the processor's caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tests.bench import cluster
from tests.bench.calls import Environment
from tests.bench.figures import Family, Figure, milliseconds

SIZES = (500, 1_000, 5_000, 15_000)
SECONDS = 2.0

BASE, LARGEST = 1_000, 15_000
TARGET_RATIO = 1.1
"""Of a node's time with the largest number of nodes to that with the base, for a plain pod after a change."""


def families() -> Iterator[Family]:
    """Families of the profile full."""
    for pod in ("plain", "spread"):
        yield Family(f"growth.filter.full.{pod}", partial(_measure, pod))


def _measure(pod: str) -> Iterator[Figure]:
    manifest, name = cluster.plain_pod() if pod == "plain" else cluster.spread_pod(), f"growth.filter.full.{pod}"
    by_size: dict[int, float] = {}
    for nodes in SIZES:
        environment = Environment("filter", "full", manifest, nodes)
        changed, first = milliseconds(environment.changed, environment.first, seconds=SECONDS)
        by_size[nodes] = changed * 1000 / nodes
        yield Figure(f"{name}.changed.{nodes}", by_size[nodes], "us/node")
        yield Figure(f"{name}.first.{nodes}", first * 1000 / nodes, "us/node")
    ratio = by_size[LARGEST] / by_size[BASE]
    yield Figure(f"{name}.changed.{LARGEST}.ratio", ratio, "x", TARGET_RATIO if pod == "plain" else None)
