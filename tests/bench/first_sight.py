"""The first pod of its shape: every verdict is computed."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import cluster
from tests.bench.calls import Environment, Verb
from tests.bench.figures import Family, Figure, beside_floor

NODES = 5_000
TARGETS = {"plain": 40.0, "spread": 150.0}


def families() -> Iterator[Family]:
    """Without inter-pod terms, and with required anti-affinity and spreading on three topology keys."""
    for pod in TARGETS:
        yield _family("filter", pod)
    yield _family("prioritize", "plain")


def _family(verb: Verb, pod: str) -> Family:
    name = f"{verb}.full.{pod}.first.{NODES}"

    def measure() -> Iterator[Figure]:
        manifest = cluster.plain_pod() if pod == "plain" else cluster.spread_pod()
        environment = Environment(verb, "full", manifest, NODES)
        target = TARGETS[pod] if verb == "filter" else None
        yield from beside_floor(name, environment.timed_floor, environment.first, target)

    return Family(name, measure)
