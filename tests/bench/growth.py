"""Growth of the cost with the number of nodes, in microseconds per node."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import cluster
from tests.bench.calls import Environment
from tests.bench.figures import Family, Figure, milliseconds

SIZES = (500, 1_000, 5_000, 15_000)


def families() -> Iterator[Family]:
    """Families of the profile full."""
    yield Family("growth.filter.full", _measure)


def _measure() -> Iterator[Figure]:
    for nodes in SIZES:
        for pod, manifest in (("plain", cluster.plain_pod()), ("spread", cluster.spread_pod())):
            environment = Environment("filter", "full", manifest, nodes)
            changed, first = milliseconds(environment.changed, environment.first, seconds=0.5)
            yield Figure(f"growth.filter.full.{pod}.changed.{nodes}", changed * 1000 / nodes, "us/node")
            yield Figure(f"growth.filter.full.{pod}.first.{nodes}", first * 1000 / nodes, "us/node")
