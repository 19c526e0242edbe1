"""Gangs are bound all or not at all, in every interleaving and wherever a bind is cut short."""

from __future__ import annotations

import pytest

from berth.extender.outcomes import BindOutcome

from .gangs.binds import GangWorld, gang_of
from .gangs.crashes import LARGE_GANG_TIMEOUT, cases, commit_cases
from .gangs.histories import run_two_gangs

pytestmark = pytest.mark.long

HISTORIES = 40
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_recovers_when_a_bind_of_the_gang_is_interrupted_at_any_call(part: int) -> None:
    for case in [*cases()][part::PARTS]:
        case.run()


def test_recovers_when_a_commit_of_120_nodes_is_interrupted_at_any_call() -> None:
    for case in commit_cases(gang_of(120)):
        case.run()


def test_binds_a_gang_of_1000() -> None:
    world = GangWorld(gang_of(1000), http_timeout=LARGE_GANG_TIMEOUT)
    world.run(60.0)
    assert world.bound() == set(world.members)
    assert world.outcomes == {BindOutcome.BOUND: 1000}


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_one_of_two_gangs_is_bound_on_room_for_one(seed: int) -> None:
    run_two_gangs(seed)
