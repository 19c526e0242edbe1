"""Every call of all binds of a gang, cut short in every way, one at a time.

A process that lives is not cut short by an error of the table: then all members are bound by their calls, or none.

Either the scheduler tries each member again, and no watcher helps: all are bound. Or nobody comes again, and watchers
run: what was reserved is given back, unless the gang is committed and its members are on nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import cycle, product

from berth.upkeep.gangs import POLL_SECONDS
from tests.simulation.reservations.binds import GPU_MEMORY, HTTP_TIMEOUT, LICENCE, Fault

from .binds import GangWorld, Member, gang_of
from .watchers import LATEST_SECONDS, SUCCESSOR_SECONDS, Watchers, assert_given_back_or_committed

SECONDS = 120.0
"""Long enough for every retry."""

MOST_CALLS = 100_000

ENDED_SECONDS = 10.0
"""All binds that are tried once have ended."""

WRITES = frozenset({"PutItem", "PutItem open", "PutItem domain", "join", "withdraw", "TransactWriteItems", "Binding"})

API_CALLS = frozenset({"GET", "Binding"})

UNANSWERED = (Fault.LOST, Fault.UNSENT, Fault.LATE)

LATE_SECONDS = 1.0
"""While the other binds still wait."""

UNANSWERED_CALLS = (1, 2, 12)
"""Of all binds together, one after the other."""

LARGE_GANG, LARGE_GANG_TIMEOUT = 250, 29.0
"""From so many members on, the scheduler needs longer than a call with the default httpTimeout waits."""

FEW_TRIED = "4 members"
"""Of this kind also: the scheduler tries only some."""

GANGS: dict[str, Sequence[Member]] = {
    "4 members": gang_of(4),
    "4 members with devices, two on a node": gang_of(4, per_node=2, requests={GPU_MEMORY: "5000", LICENCE: "1"}),
    "4 members that request nothing counted": gang_of(4, requests={"cpu": "1"}),
}


class Afterwards(StrEnum):
    """What happens when the binds have ended.

    COMES_AGAIN: the scheduler tries each member again; without watchers. STAYS: the pods stay, and nobody tries them.
    DELETED: the pods are deleted. RETURNS: as STAYS, and when the watchers have done their work, the scheduler tries
    the members again.
    """

    COMES_AGAIN = "comes again"
    STAYS = "stays"
    DELETED = "deleted"
    RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class Case:
    """One call of one gang. tried: so many members are; None: all. kills_all: the process of all binds ends there.
    watcher_dies_at: the boundary of a call at which the first of two watchers dies, one after the other; None: it
    lives. two_watchers: both run, and one of them is deposed.
    """

    members: Sequence[Member]
    fault: Fault
    fault_at: int
    afterwards: Afterwards = Afterwards.COMES_AGAIN
    tried: int | None = None
    kills_all: bool = False
    two_watchers: bool = False
    watcher_dies_at: int | None = None

    def run(self) -> GangWorld:
        """Raises AssertionError where something does not hold."""
        return self._without_watchers() if self.afterwards is Afterwards.COMES_AGAIN else self.with_watchers()[0]

    def _without_watchers(self) -> GangWorld:
        world = world_of(self.members, {self.fault_at: self.fault})
        world.run(SECONDS)
        assert world.bound() == set(world.members), f"{self}: only {world.bound()} are bound"
        return world

    def with_watchers(self) -> tuple[GangWorld, Watchers]:
        faults = {self.fault_at: self.fault}
        if self.kills_all:
            faults = dict.fromkeys(range(self.fault_at, self.fault_at + MOST_CALLS), Fault.DIES_BEFORE) | faults
        world = world_of(self.members, faults)
        watchers = Watchers(world, dies_at=self.watcher_dies_at)
        watchers.start()
        if self.two_watchers:
            watchers.start(after=5.0)
        for number, member in enumerate(self.members[: self.tried]):
            world.schedule(member, after=0.01 * number, tries=1)
        world.world.run(ENDED_SECONDS)
        world.wire.deliver()
        world.wire.faults = {}
        if self.afterwards is Afterwards.DELETED:
            for member in self.members:
                world.pods.delete(member.name)
        extra = 0.0 if self.watcher_dies_at is None else SUCCESSOR_SECONDS + 2 * POLL_SECONDS
        world.world.run(ENDED_SECONDS + LATEST_SECONDS + extra)
        assert_given_back_or_committed(world, self)
        if self.afterwards is Afterwards.RETURNS:
            for member in self.members:
                world.schedule(member)
            world.world.run(ENDED_SECONDS + LATEST_SECONDS + SECONDS)
            assert world.bound() == set(world.members), f"{self}: only {world.bound()} are bound in the end"
        return world, watchers


@dataclass(frozen=True, slots=True)
class TableErrorCase:
    """The table does not answer so many calls. Every member is tried once, and its process lives."""

    members: Sequence[Member]
    fault: Fault
    fault_at: int
    calls: int

    def run(self) -> GangWorld:
        """Raises AssertionError where something does not hold."""
        world = world_of(self.members, dict.fromkeys(range(self.fault_at, self.fault_at + self.calls), self.fault))
        world.wire.answered = API_CALLS
        world.world.start("network", lambda: self._deliver(world))
        world.run(ENDED_SECONDS, tries=1)
        assert world.bound() in (set(), set(world.members)), f"{self}: only {world.bound()} are bound"
        return world

    def _deliver(self, world: GangWorld) -> None:
        world.world.pause(LATE_SECONDS)
        world.wire.deliver()


def world_of(members: Sequence[Member], faults: Mapping[int, Fault] | None = None) -> GangWorld:
    timeout = LARGE_GANG_TIMEOUT if len(members) >= LARGE_GANG else HTTP_TIMEOUT
    return GangWorld(members, faults=faults, http_timeout=timeout)


def calls_of(members: Sequence[Member]) -> list[str]:
    """The calls that the binds of such a gang make without a fault, in their order."""
    world = world_of(members)
    world.run(SECONDS)
    return world.wire.calls


def cases() -> Iterator[Case]:
    """Yield every call with every fault, for each kind of gang of 4 and each continuation."""
    two_watchers = cycle((False, True))
    for (name, members), afterwards in product(GANGS.items(), Afterwards):
        # A fault makes binds longer: they look again.
        calls = len(calls_of(members)) + 8
        for fault_at, fault in product(range(calls), Fault):
            yield Case(members, fault, fault_at, afterwards, two_watchers=next(two_watchers))
        if afterwards is Afterwards.COMES_AGAIN:
            continue
        for fault_at, fault in product(range(calls), (Fault.DIES_BEFORE, Fault.DIES_AFTER)):
            yield Case(members, fault, fault_at, afterwards, kills_all=True, two_watchers=next(two_watchers))
        if name == FEW_TRIED:
            for tried, fault_at, fault in product((1, 2), range(calls), Fault):
                yield Case(members, fault, fault_at, afterwards, tried, two_watchers=next(two_watchers))


def table_error_cases() -> Iterator[TableErrorCase]:
    """At every call of the table, for each kind of gang of 4; and in a commit in two phases."""
    large = gang_of(120)
    places = [(members, range(len(calls_of(members)))) for members in GANGS.values()]
    for members, numbers in (*places, (large, _commit_calls(large))):
        for fault_at, calls, fault in product(numbers, UNANSWERED_CALLS, UNANSWERED):
            yield TableErrorCase(members, fault, fault_at, calls)


def cases_of_watchers() -> Iterator[Case]:
    """The watcher dies at every boundary of its calls, while it ends what a bind has left that died after one of its
    writes."""
    for members, afterwards in product(GANGS.values(), (Afterwards.STAYS, Afterwards.DELETED)):
        for fault_at, name in enumerate(calls_of(members)):
            if name in WRITES:
                yield from _watcher_cases(Case(members, Fault.DIES_AFTER, fault_at, afterwards))
                yield from _watcher_cases(Case(members, Fault.DIES_AFTER, fault_at, afterwards, tried=1))


def _watcher_cases(case: Case) -> Iterator[Case]:
    _, watchers = case.with_watchers()
    for boundary in range(watchers.boundaries):
        yield replace(case, watcher_dies_at=boundary)


def commit_cases(
    members: Sequence[Member], afterwards: Sequence[Afterwards] = (Afterwards.COMES_AGAIN,)
) -> Iterator[Case]:
    """The calls of the commit in two phases, and one before and after, with every fault."""
    two_watchers = cycle((False, True))
    for each, fault_at in product(afterwards, _commit_calls(members)):
        for fault in Fault:
            yield Case(members, fault, fault_at, each, two_watchers=next(two_watchers))
        if each is not Afterwards.COMES_AGAIN:
            yield Case(members, Fault.DIES_AFTER, fault_at, each, kills_all=True, two_watchers=next(two_watchers))


def _commit_calls(members: Sequence[Member]) -> list[int]:
    """The numbers of the calls of a commit in two phases, with one before and one after."""
    calls = calls_of(members)
    first = next(number for number, name in enumerate(calls) if name == "TransactWriteItems")
    last = calls.index("PutItem committed")
    return [
        number
        for number in range(first - 1, last + 2)
        if calls[number] not in ("GetItem gang", "GetItem domain", "join")
    ]
