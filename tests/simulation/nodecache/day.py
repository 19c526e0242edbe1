"""A day of the deployed watcher in a quiet cluster: started by the schedule, with limited runs and many hand-overs.

The only faults are those of the schedule and planned crashes. The measured values are the greatest ages of the head's
heartbeat and observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count, takewhile
from random import Random

from berth.lease.config import LeaderCallbacks, LeaderElectionConfig
from berth.lease.elector import LeaderElector, Standby
from berth.lease.lock import Fence
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.table import LogItem, LogWrite
from berth.nodecache.feed.watcher import Watcher, WatcherOutcome
from berth.nodecache.feed.writer import Retention
from berth.runtime.watcher.watcher_run import HORIZON_SECONDS, RunLimit
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.simulation.world import EPOCH, Actor, World

from .ambush import Ambush
from .cluster import ApiServer, SimulatedCluster
from .schedule import Schedule, Starts
from .storage import RecordedItem, RecordedTable, Witness
from .table import Faults, Network, SimulatedLock, SimulatedTable

DAY = 24 * 3600.0
BUDGET = 14.5 * 60.0
"""Length of a run in seconds. Lambda allows 15 minutes; the rest is for a cold start, a slow last call, the release."""

COLD_START = (0.3, 2.5)

OLDEST_HEARTBEAT = 5.0
OLDEST_OBSERVATION = 75.0
LONGEST_RECOVERY = 150.0
LONGEST_RECOVERY_WITH_STANDBY = 30.0
"""Limits that a day must keep, in seconds."""


@dataclass(slots=True)
class Arrangement:
    """How the watcher is deployed, and its faults. Times are in seconds.

    `standby`: a second candidate waits until it leads or its run ends. `crashes`: when the leader is killed.
    `clock_error`: the largest error of a function's clock.
    """

    seed: int
    duration: float = DAY
    starts: Starts = field(default_factory=Starts)
    standby: bool = False
    crashes: Iterable[float] = ()
    clock_error: float = 0.05


def quiet(seed: int) -> Arrangement:
    """Return a day without crashes; some starts are dropped, never two in a row, and some come twice."""
    return Arrangement(seed, starts=Starts(dropped=0.02, doubled=0.05, in_a_row=1))


def crashing(seed: int, duration: float = DAY, *, standby: bool = False) -> Arrangement:
    """Return a day on which the leader is killed about every 20 minutes."""
    random = Random(seed)
    crashes = (at + random.uniform(0.0, 600.0) for at in count(900, 1200))
    within = tuple(takewhile(lambda at: at < duration - 2 * LONGEST_RECOVERY, crashes))
    return Arrangement(seed, duration, Starts(doubled=0.05), standby, within)


@dataclass(slots=True)
class Ages:
    """The greatest ages that a reader could have seen, in seconds.

    `recoveries`: from a crash to the next publication if no standby waited; `with_standby`: the same if one waited.
    """

    heartbeat: float = 0.0
    observed_at: float = 0.0
    recoveries: list[float] = field(default_factory=list)
    with_standby: list[float] = field(default_factory=list)
    hand_overs: int = 0
    running: float = 0.0
    """Total time of all runs in seconds, which is billed."""


class Day(Witness):
    def __init__(self, arrangement: Arrangement) -> None:
        self.ages = Ages()
        self._plan = arrangement
        self._world = World(arrangement.seed)
        self._server = ApiServer(self._world)
        self._item = RecordedItem()
        self._item.witness = self
        self._table = RecordedTable(self._world, self._item, self, Retention().lifetime)
        self._place = InMemoryItem()
        self._ids = count(1)
        self._runs: dict[str, Actor] = {}
        self._crashed_at: float | None = None
        self._had_standby = False
        self._schedule = Schedule(self._world, arrangement.starts, self._start)

    def run(self) -> Ages:
        """Run the day. Return the greatest ages after the first publication; recoveries count separately."""
        for number in range(3):
            self._server.put("nodes", f"node-{number}")
        self._schedule.begin()
        for at in self._plan.crashes:
            self._world.after(at, self._crash_the_leader)
        self._world.run(self._plan.duration)
        assert self._crashed_at is None, "nothing was published since the last crash"
        self._check_head(self._table.head())
        return self.ages

    def head_written(self) -> None:
        return None

    def log_written(self, uid: str, before: LogItem | None, item: LogItem, outcome: LogWrite) -> None:
        return None

    def published(self, before: Head, fence: Fence) -> None:
        if self._crashed_at is not None:
            recovery, self._crashed_at = self._world.now - self._crashed_at, None
            (self.ages.with_standby if self._had_standby else self.ages.recoveries).append(recovery)
            return
        self._check_head(before)

    def _check_head(self, head: Head | None) -> None:
        """Record the head's ages, which are greatest just before it is replaced."""
        if head is not None and head.pointer is not None:
            now = EPOCH + self._world.now
            self.ages.heartbeat = max(self.ages.heartbeat, now - head.pointer.heartbeat)
            self.ages.observed_at = max(self.ages.observed_at, now - head.pointer.observation.observed_at)

    def _start(self) -> None:
        self._runs = {name: actor for name, actor in self._runs.items() if not actor.ended}
        name = f"watcher-{self._new_id()}"
        self._runs[name] = self._world.start(name, lambda: self._watch(name))

    def _watch(self, name: str) -> WatcherOutcome:
        """Run the watcher as runtime/watcher/watcher_run does, in virtual time."""
        world, actor = self._world, self._world.current()
        started = world.now
        actor.wall_error = world.random.uniform(-self._plan.clock_error, self._plan.clock_error)
        world.pause(world.random.uniform(*COLD_START))
        clock, network = world.clock(actor), Network(world, Faults())
        ends_at = clock.wall() + BUDGET
        limit = RunLimit(lambda: ends_at - clock.wall(), clock.wall, world.pause)

        def elector(item: InMemoryItem, horizon: float, callbacks: LeaderCallbacks | None = None) -> LeaderElector:
            lock = SimulatedLock(InMemoryLeaseLock(item, self._new_id), network)
            handover = limit.handover(horizon)
            return LeaderElector(lock, LeaderElectionConfig(), name, clock, world.random.random, callbacks, handover)

        standby = Standby(elector(self._place, HORIZON_SECONDS))
        is_standby = self._plan.standby and standby.acquire(limit.sleep, limit.is_over)
        leading = LeaderCallbacks(started_leading=lambda became: _do_nothing(standby.release()))
        ended = Watcher(
            elector(self._item, math.inf if is_standby else HORIZON_SECONDS, leading),
            SimulatedCluster(world, self._server),
            SimulatedTable(self._table, network, Retention().lifetime, Ambush(world, lambda: None)),
            clock=clock,
            sleep=limit.sleep,
            stopped=limit.is_over,
            new_id=self._new_id,
            on_published=lambda publication: None,
            may_wait=standby.may_wait,
        ).run()
        standby.release()
        self.ages.hand_overs += ended.outcome is WatcherOutcome.HANDED_OVER
        self.ages.running += world.now - started
        return ended.outcome

    def _crash_the_leader(self) -> None:
        actor = self._holder(self._item)
        if actor is not None and self._crashed_at is None:
            self._world.crash(actor)
            self._crashed_at = self._world.now
            standby = self._holder(self._place)
            self._had_standby = standby is not None and standby is not actor

    def _holder(self, item: InMemoryItem) -> Actor | None:
        """Return the run that holds a lease, or None."""
        found = item.get()
        actor = self._runs.get(str(found["holderIdentity"])) if found else None
        return None if actor is None or actor.ended else actor

    def _new_id(self) -> str:
        return f"id-{next(self._ids)}"


def _do_nothing(_: object) -> None:
    return None
