"""What becomes of pods, from two runs."""

from __future__ import annotations

import pytest

from berth_cli.simulate.comparison.comparison import Effect, PodComparison, compare
from berth_cli.simulate.comparison.run import NOWHERE, Place, PlaceKind, PodName, Run

PENDING, EVICTED = Place(PlaceKind.PENDING), Place(PlaceKind.EVICTED)


def on(node: str) -> Place:
    return Place(PlaceKind.NODE, node)


def run(places: dict[PodName, Place], on_nodes: dict[PodName, str] | None = None, priority: int = 0) -> Run:
    return Run(places, on_nodes or {}, dict.fromkeys(places, priority), {})


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param(on("a"), on("a"), Effect.SAME, id="the same node"),
        pytest.param(PENDING, PENDING, Effect.SAME, id="still pending"),
        pytest.param(on("a"), on("b"), Effect.MOVED, id="another node"),
        pytest.param(on("a"), PENDING, Effect.NEWLY_PENDING, id="loses its node"),
        pytest.param(EVICTED, PENDING, Effect.NEWLY_PENDING, id="evicted before, pending now"),
        pytest.param(NOWHERE, PENDING, Effect.NEWLY_PENDING, id="created without a node"),
        pytest.param(NOWHERE, on("a"), Effect.CREATED, id="created with a node"),
        pytest.param(PENDING, on("a"), Effect.NEWLY_PLACED, id="gets a node"),
        pytest.param(EVICTED, on("a"), Effect.NEWLY_PLACED, id="is not evicted any more"),
        pytest.param(on("a"), EVICTED, Effect.EVICTED, id="evicted from a node"),
        pytest.param(PENDING, EVICTED, Effect.EVICTED, id="placed and then evicted"),
        pytest.param(on("a"), NOWHERE, Effect.DELETED, id="deleted from a node"),
        pytest.param(PENDING, NOWHERE, Effect.DELETED, id="deleted while it waits"),
    ],
)
def test_names_the_effect_on_a_pod(before: Place, after: Place, wanted: Effect) -> None:
    assert PodComparison(("default", "p"), 0, before, after).effect is wanted


def test_finds_the_place_of_a_pod_that_only_one_run_decided_on() -> None:
    pod = ("default", "drained")
    [found] = compare(run({}, {pod: "a"}), run({pod: on("b")}, {pod: "b"})).pods
    assert (found.before, found.after, found.effect) == (on("a"), on("b"), Effect.MOVED)


def test_lists_pods_that_no_run_decided_on_if_they_are_named() -> None:
    pod = ("default", "scaled-down")
    [found] = compare(run({}, {pod: "a"}), run({}), also=[pod]).pods
    assert found.effect is Effect.DELETED


def test_sorts_by_priority_then_name() -> None:
    low, high = run({("b", "p"): PENDING, ("a", "p"): PENDING}), run({("z", "p"): PENDING}, priority=5)
    assert [each.pod for each in compare(low, high).pods] == [("z", "p"), ("a", "p"), ("b", "p")]
