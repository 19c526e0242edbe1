"""Every call of all binds of a gang, cut short in every way, one at a time; and a gang where no member comes again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from berth.gangs.item import GangState
from tests.builders.gang_items import TRAIN
from tests.simulation.reservations.binds import GPU_MEMORY, HTTP_TIMEOUT, LICENCE, Fault

from .binds import GangWorld, Member, gang_of

SECONDS = 120.0
"""Long enough for every retry. No watcher helps."""

LARGE_GANG, LARGE_GANG_TIMEOUT = 250, 29.0
"""From so many members on, the scheduler needs longer than a call with the default httpTimeout waits."""

GANGS: dict[str, Sequence[Member]] = {
    "4 members": gang_of(4),
    "4 members with devices, two on a node": gang_of(4, per_node=2, requests={GPU_MEMORY: "5000", LICENCE: "1"}),
    "4 members that request nothing counted": gang_of(4, requests={"cpu": "1"}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One call of one gang. comes_again: the scheduler tries each member again."""

    members: Sequence[Member]
    fault: Fault
    fault_at: int
    comes_again: bool = True

    def run(self) -> GangWorld:
        """Raises AssertionError where something does not hold."""
        world = world_of(self.members, {self.fault_at: self.fault})
        world.run(SECONDS if self.comes_again else 10.0, tries=100 if self.comes_again else 1)
        if self.comes_again:
            assert world.bound() == set(world.members), f"{self}: only {world.bound()} are bound"
        else:
            item = world.gangs.gang(TRAIN)
            is_committed = item is not None and item.state is GangState.COMMITTED
            assert is_committed or not world.bound(), f"{self}: {world.bound()} are bound without a commit"
        return world


def world_of(members: Sequence[Member], faults: Mapping[int, Fault] | None = None) -> GangWorld:
    """With an httpTimeout for so many members."""
    timeout = LARGE_GANG_TIMEOUT if len(members) >= LARGE_GANG else HTTP_TIMEOUT
    return GangWorld(members, faults=faults, http_timeout=timeout)


def calls_of(members: Sequence[Member]) -> list[str]:
    """The calls that the binds of such a gang make without a fault, in their order."""
    world = world_of(members)
    world.run(SECONDS)
    return world.wire.calls


def cases() -> Iterator[Case]:
    """Every call with every fault, for each kind of gang of 4."""
    for members, comes_again in product(GANGS.values(), (True, False)):
        # A fault makes binds longer: they look again.
        for fault_at, fault in product(range(len(calls_of(members)) + 8), Fault):
            yield Case(members, fault, fault_at, comes_again)


def commit_cases(members: Sequence[Member]) -> Iterator[Case]:
    """The calls of the commit in two phases, and one before and after, with every fault."""
    calls = calls_of(members)
    first = next(number for number, name in enumerate(calls) if name == "TransactWriteItems")
    last = calls.index("PutItem committed")
    commit = [
        number
        for number in range(first - 1, last + 2)
        if calls[number] not in ("GetItem gang", "GetItem domain", "join")
    ]
    for fault_at, fault in product(commit, Fault):
        yield Case(members, fault, fault_at)
