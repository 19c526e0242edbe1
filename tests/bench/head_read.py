"""The cost of one read of the head in the embedded store."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.figures import Family, Figure, Timed, milliseconds
from tests.fakes.published import PublishedCluster


def families() -> Iterator[Family]:
    """Informative: on Lambda the network's millisecond takes its place."""
    yield Family("cache.head_read", _measure)


def _measure() -> Iterator[Figure]:
    cluster = PublishedCluster()
    cluster.publish_nodes(())
    [read] = milliseconds(Timed(cluster.table.head))
    yield Figure("cache.head_read.embedded", read, "ms")
