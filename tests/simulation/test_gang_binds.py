"""Gangs are bound all or not at all, in every interleaving and wherever a bind is cut short."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulation.gang_binds import GangWorld, gang_of
from tests.simulation.gang_crashes import cases, commit_cases

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


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_one_of_two_gangs_is_bound_on_room_for_one(seed: int) -> None:
    random = Random(seed)
    members = [*gang_of(6), *gang_of(6, name="other", priority=seed % 2)]
    random.shuffle(members)
    world = GangWorld(members, licences=1, seed=seed)
    for member in members:
        world.schedule(member, after=random.uniform(0.0, 3.0), tries=1000)
    world.world.run(180.0)
    first = "train" if world.bound("train") else "other"
    assert sorted(len(world.bound(gang)) for gang in ("train", "other")) == [0, 6]
    # The first ends, and the other one runs.
    for member in members:
        if member.gang == first:
            world.end(member)
    world.world.run(400.0)
    assert len(world.bound("other" if first == "train" else "train")) == 6
