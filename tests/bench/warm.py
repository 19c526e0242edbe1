"""Calls for a known pod shape, which most pods have."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import cluster
from tests.bench.calls import Environment, Verb
from tests.bench.figures import Family, Figure, milliseconds

NODES = 5_000


def families() -> Iterator[Family]:
    """Families by verb, profile and number of nodes; `changed`: after 1 % of the nodes changed since the last call."""
    for nodes in (100, 1_000, NODES):
        yield _family("filter", "label-priority", nodes)
    for profile in ("label-priority", "full"):
        yield _family("filter", profile, is_changed=True)
        yield _family("prioritize", profile)
    yield _family("filter_onlyone", "label-priority")


def _family(verb: Verb, profile: str, nodes: int = NODES, *, is_changed: bool = False) -> Family:
    name = f"{verb}.{profile}.{'changed' if is_changed else 'unchanged'}.{nodes}"

    def measure() -> Iterator[Figure]:
        environment = Environment(verb, profile, cluster.plain_pod(), nodes)
        prepare = environment.change if is_changed else None
        yield Figure(name, milliseconds(environment.answer, prepare), "ms")

    return Family(name, measure)
