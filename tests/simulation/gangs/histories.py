"""Two gangs on room for one, from seeds: one of them runs, then the other, and never a part of one."""

from __future__ import annotations

from random import Random

from .binds import GangWorld, gang_of


def run_two_gangs(seed: int) -> None:
    """One history; the same one for the same seed. Raises AssertionError where something does not hold."""
    random = Random(seed)
    members = [*gang_of(6), *gang_of(6, name="other", priority=seed % 2)]
    random.shuffle(members)
    world = GangWorld(members, licences=1, seed=seed)
    for member in members:
        world.schedule(member, after=random.uniform(0.0, 3.0), tries=1000)
    world.world.run(180.0)
    first = "train" if world.bound("train") else "other"
    assert sorted(len(world.bound(gang)) for gang in ("train", "other")) == [0, 6], f"seed {seed}"
    # The first ends, and the other one runs.
    for member in members:
        if member.gang == first:
            world.end(member)
    world.world.run(400.0)
    assert len(world.bound("other" if first == "train" else "train")) == 6, f"seed {seed}"
