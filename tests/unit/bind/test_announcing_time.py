"""Announcing while positions of the log are occupied, and when little time is left."""

from __future__ import annotations

import pytest

from berth.bind.announcing import (
    CONTENDED,
    DEADLINE_PASSED,
    FIRST_WAIT,
    LONGEST_WAIT,
)
from berth.extender.outcomes import BindOutcome, BindResult
from berth.scheduling.evaluation.time_limit import TimeLimit
from berth.scheduling.feasibility import TOO_COSTLY
from tests.fakes.binding_world import SCORES_ALONE, TakenLog, World


def test_waits_longer_after_each_occupied_position() -> None:
    world = World(log=TakenLog(8))
    assert world.bind("p", seconds=30.0).outcome is BindOutcome.BOUND
    # The random number is 0.5.
    assert world.waits == [min(LONGEST_WAIT, FIRST_WAIT * 2**tries) / 2 for tries in range(8)]


def test_fails_if_every_position_is_occupied_until_the_deadline() -> None:
    world = World(log=TakenLog(1_000))
    assert world.bind("p", seconds=1.0) == CONTENDED
    assert sum(world.waits) == pytest.approx(1.0)
    assert "p" not in [name for _, name, _ in world.announced()]


def test_refuses_if_the_deadline_passes_before_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    find = world.pod

    def slowly(namespace: str, pod_name: str, timeout: float) -> object:
        world.now += 4.0
        return find(namespace, pod_name, timeout)

    monkeypatch.setattr(world, "pod", slowly)
    assert world.bind("p") == DEADLINE_PASSED
    assert world.announced() == []


def test_refuses_if_too_little_time_is_left_to_evaluate() -> None:
    """The answer needs the rest."""
    world = World(time_limit=TimeLimit(2.0, lambda: 0.0, lambda: 0.0))
    assert world.bind("p", seconds=0.05) == DEADLINE_PASSED


def test_refuses_pod_that_is_too_expensive_to_evaluate() -> None:
    """The pod is not evaluated again for a while: bind has the time limit of filter."""
    looks: list[float] = []

    def clock() -> float:
        looks.append(1.0)
        return sum(looks)

    world = World(time_limit=TimeLimit(0.5, clock, lambda: 0.0))
    for _ in range(2):
        assert world.bind("p") == BindResult(BindOutcome.NOT_JUDGED, TOO_COSTLY.message)
        first, looks[:] = [*looks], []
    assert first == []
    assert world.announced() == []


def test_leaves_half_of_the_time_for_the_binding_if_only_scores_read_pods() -> None:
    world = World(SCORES_ALONE, log=TakenLog(1_000))
    assert world.bind("p", seconds=4.0).outcome is BindOutcome.BOUND
    assert 2.0 <= sum(world.waits) < 2.0 + LONGEST_WAIT
