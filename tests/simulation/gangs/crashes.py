"""Every call of all binds of a gang, interrupted in every way, one at a time.

If the table fails and no process dies, the calls bind either all members or none.

Either the scheduler tries each member again without watchers: then all are bound. Or it does not, and watchers run:
then they release every reservation, unless the gang is committed and its members are on nodes.
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
"""Time in seconds that is long enough for every retry."""

MOST_CALLS = 100_000

ENDED_SECONDS = 10.0
"""Time in seconds after which all binds that are tried once have ended."""

WRITES = frozenset({"PutItem", "PutItem open", "PutItem domain", "join", "withdraw", "TransactWriteItems", "Binding"})

API_CALLS = frozenset({"GET", "Binding"})

UNANSWERED = (Fault.LOST, Fault.UNSENT, Fault.LATE)

LATE_SECONDS = 1.0
"""Time in seconds after which late calls arrive, while the other binds still wait."""

UNANSWERED_CALLS = (1, 2, 12)
"""Numbers of consecutive unanswered calls, counted over all binds."""

LARGE_GANG, LARGE_GANG_TIMEOUT = 250, 29.0
"""For a gang of this size or larger, the scheduler needs longer than the default httpTimeout lets a call wait."""

FEW_TRIED = "4 members"
"""Kind of gang for which there are also cases in which the scheduler tries only some members."""

GANGS: dict[str, Sequence[Member]] = {
    "4 members": gang_of(4),
    "4 members with devices, two on a node": gang_of(4, per_node=2, requests={GPU_MEMORY: "5000", LICENCE: "1"}),
    "4 members that request nothing counted": gang_of(4, requests={"cpu": "1"}),
}


class Afterwards(StrEnum):
    """The steps after the binds have ended.

    COMES_AGAIN: the scheduler tries each member again, without watchers. STAYS: the pods stay, but are not tried
    again. DELETED: the pods are deleted. RETURNS: as STAYS, and when the watchers have done their work, the scheduler
    tries the members again.
    """

    COMES_AGAIN = "comes again"
    STAYS = "stays"
    DELETED = "deleted"
    RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class Case:
    """A fault at a call of a gang's binds. tried: how many members are tried; None: all. kills_all: all binds die then.
    watcher_dies_at: the boundary of a call at which the first watcher dies and a successor takes over; None: it does
    not die. two_watchers: both run, and one of them is deposed.
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
        """Run the case. Raises AssertionError if an invariant is broken."""
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
    """The table does not answer some consecutive calls. Every member is tried once, and no process dies."""

    members: Sequence[Member]
    fault: Fault
    fault_at: int
    calls: int

    def run(self) -> GangWorld:
        """Run the case. Raises AssertionError if an invariant is broken."""
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
    """Return the calls that the binds of such a gang make without a fault, in their order."""
    world = world_of(members)
    world.run(SECONDS)
    return world.wire.calls


def cases() -> Iterator[Case]:
    """Yield every fault at every call, for each gang in GANGS and each of `Afterwards`."""
    two_watchers = cycle((False, True))
    for (name, members), afterwards in product(GANGS.items(), Afterwards):
        # A fault adds calls: binds read again.
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
    """Yield faults of the table at every call for each gang in GANGS, and at the calls of a large gang's commit."""
    large = gang_of(120)
    places = [(members, range(len(calls_of(members)))) for members in GANGS.values()]
    for members, numbers in (*places, (large, _commit_calls(large))):
        for fault_at, calls, fault in product(numbers, UNANSWERED_CALLS, UNANSWERED):
            yield TableErrorCase(members, fault, fault_at, calls)


def cases_of_watchers() -> Iterator[Case]:
    """Yield cases in which a bind dies after one of its writes, and the watcher dies at a boundary of a call while it
    cleans up."""
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
    """Yield every fault at the calls of the two-phase commit, and at one call before and after it."""
    two_watchers = cycle((False, True))
    for each, fault_at in product(afterwards, _commit_calls(members)):
        for fault in Fault:
            yield Case(members, fault, fault_at, each, two_watchers=next(two_watchers))
        if each is not Afterwards.COMES_AGAIN:
            yield Case(members, Fault.DIES_AFTER, fault_at, each, kills_all=True, two_watchers=next(two_watchers))


def _commit_calls(members: Sequence[Member]) -> list[int]:
    """Return the numbers of the calls of a two-phase commit, with one call before and one after it."""
    calls = calls_of(members)
    first = next(number for number, name in enumerate(calls) if name == "TransactWriteItems")
    last = calls.index("PutItem committed")
    return [
        number
        for number in range(first - 1, last + 2)
        if calls[number] not in ("GetItem gang", "GetItem domain", "join")
    ]
