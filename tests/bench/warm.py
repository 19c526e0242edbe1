"""Calls for a known pod shape, which most pods have."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import cluster
from tests.bench.calls import Environment, Verb
from tests.bench.figures import Family, Figure, Timed, beside_floor, milliseconds

TARGET_NODES, TARGET_RATIO = 5_000, 3.0


def families() -> Iterator[Family]:
    """Yield families by verb and profile, without a change and with 1 % of the nodes changed since the last call."""
    for profile in ("label-priority", "full"):
        for pod in ("plain",) if profile == "label-priority" else ("plain", "spread"):
            yield _family("filter", profile, pod, (100, 1_000, 5_000))
    others: tuple[Verb, ...] = ("prioritize", "filter_onlyone")
    for verb in others:
        for profile in ("label-priority", "full"):
            yield _family(verb, profile, "plain", (5_000,))
    yield Family("snapshot.changed", _snapshot)


def _family(verb: Verb, profile: str, pod: str, sizes: tuple[int, ...]) -> Family:
    name = f"{verb}.{profile}.{pod}"

    def measure() -> Iterator[Figure]:
        manifest = cluster.plain_pod() if pod == "plain" else cluster.spread_pod()
        for nodes in sizes:
            target = TARGET_RATIO if verb == "filter" and nodes == TARGET_NODES else None
            environment = Environment(verb, profile, manifest, nodes)
            yield from beside_floor(f"{name}.unchanged.{nodes}", environment.timed_floor, environment.unchanged, target)
            environment = Environment(verb, profile, manifest, nodes)
            yield from beside_floor(f"{name}.changed.{nodes}", environment.timed_floor, environment.changed, target)

    return Family(name, measure)


def _snapshot() -> Iterator[Figure]:
    """Yield the time to apply a change of 1 % of the nodes to the snapshot, which the calls above do not include."""
    following = cluster.changes(cluster.snapshot(TARGET_NODES))
    [taken] = milliseconds(Timed(lambda: next(following)))
    yield Figure(f"snapshot.changed.{TARGET_NODES}", taken, "ms")
