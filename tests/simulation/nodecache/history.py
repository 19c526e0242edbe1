"""One history: watchers that come and go, readers, a cluster that changes, and faults, all drawn from a seed.

Every write is checked against the invariants when it is carried out, every answer when a reader gets it. At the end
nothing changes any more, and all readers must have the state of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from itertools import count
from random import Random

from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.elector import LeaderElector
from berth.nodecache.feed import changes
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.feed.watcher import Watcher
from berth.nodecache.feed.writer import Retention
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts
from berth_cli.server.store.lease_lock import InMemoryLeaseLock
from tests.simulation.world import Actor, Mutex, World

from .ambush import Ambush
from .cluster import RESOURCES, ApiServer, SimulatedCluster
from .next_release import ThisReleasesTable, decoded
from .schedule import MINUTE, Schedule, Starts
from .storage import RecordedTable, RecordedTrimmedTable
from .table import Faults, Network, SimulatedLock, SimulatedTable
from .truth import ObjectsOnlyView, State, Truth, in_parts

CONFIG = LeaderElectionConfig()
_NEEDED: tuple[tuple[Parts, ...], ...] = (
    (NODES_ONLY,),
    (NODES_ONLY, NODES_ONLY, NODES_ONLY, NODES_AND_PODS),
    (ALL_PARTS,),
)
"""Parts that the calls of each environment need: always one part, a further part at some time, all parts."""

RAW_BYTES = 200
"""Room for a few objects in an item: a flush may have several log items, a snapshot has several chunks."""


@dataclass(frozen=True, slots=True)
class Disturbances:
    change: float = 100.0
    crash: float = 0.0
    freeze: float = 0.0
    freeze_reader: float = 0.0
    jump: float = 0.0
    expiry: float = 0.0
    restart: float = 0.0
    outage: float = 0.0
    deletion: float = 0.0
    spoil: float = 0.0
    ambush: float = 0.0


@dataclass(slots=True)
class Plan:
    """The settings of a history. Times are in seconds. `threads`: of each reading environment; `cold`: the probability
    that an environment is replaced after a call. `trimmed`: uses the table of `berth serve`.

    `other_release`: a release that is rolled out to more and more watchers and environments for the middle third of
    the troubled time, then rolled back. `lifetime`: of an item; a day becomes a hundred seconds, so that a history
    includes everything that happens in a day.
    """

    seed: int
    lifetime: float = 100.0
    troubled: float = 240.0
    quiet: float = 160.0
    budget: float = 100.0
    horizon: float = 150.0
    threads: int = 1
    cold: float = 0.02
    faults: Faults = field(default_factory=Faults)
    disturbances: Disturbances = Disturbances()
    other_release: Callable[[CacheTable], CacheTable] | None = None
    trimmed: bool = False

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """Draw a plan in which only a few faults are frequent, so that the others do not hide their effects."""
        random = Random(seed)

        def often(most: float) -> float:
            return random.choice((0.0, 0.1, 0.3, 1.0)) * most

        if random.random() < 0.15:
            return cls.ambushed(seed)
        lifetime = random.choice((40.0, 100.0, 100.0, 200.0))
        return cls(
            seed,
            lifetime=lifetime,
            troubled=max(240.0, 3.0 * lifetime),
            threads=random.choice((1, 1, 2)),
            trimmed=Random(f"trimmed {seed}").random() < 0.2,
            cold=often(0.1),
            faults=Faults(
                throttled=often(0.08),
                lost=often(0.08),
                late=often(0.25),
                latest=random.choice((10.0, 60.0, 250.0)),
                late_log=often(0.5),
                no_chunks=often(0.9),
                stale=often(0.2),
            ),
            disturbances=Disturbances(
                change=random.choice((20.0, 100.0, 200.0)),
                crash=often(3.0),
                freeze=often(6.0),
                freeze_reader=often(6.0),
                jump=often(4.0),
                expiry=often(3.0),
                restart=often(3.0),
                outage=often(0.5),
                deletion=often(1.0),
                spoil=often(2.0),
            ),
        )

    @classmethod
    def ambushed(cls, seed: int) -> Plan:
        """Return a plan with orphans in the places of published items, and with cold readers that find them."""
        return cls(
            seed,
            troubled=600.0,
            lifetime=200.0,
            cold=0.3,
            faults=Faults(no_chunks=0.5),
            disturbances=Disturbances(change=20.0, ambush=3.0),
        )


class History:
    """Runs a plan. Raises AssertionError if an invariant is broken."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.world = World(plan.seed)
        self.server = ApiServer(self.world)
        kind = RecordedTrimmedTable if plan.trimmed else RecordedTable
        self.truth = Truth(self.world, self.server, plan.lifetime, kind)
        if plan.other_release is not None:
            self.truth.decoded = decoded
        self._retention = Retention(plan.lifetime, least_log_bytes=400, retry=plan.lifetime / 20)
        self._ambush = Ambush(self.world, lambda: self._stop_all_watchers(2.2 * plan.lifetime))
        self.truth.on_publication = self._ambush.published
        self.truth.table.cleaned, self.truth.table.is_first = self._ambush.cleaned, self._ambush.awaits
        # A separate generator, so that the parts that readers need do not change the rest of a history.
        self._parts_random = Random(f"parts {plan.seed}")
        self._ids = count(1)
        self._watchers: list[Actor] = []
        self._threads: list[Actor] = []
        self._faults = plan.faults
        self._starts = Starts(dropped=0.1, doubled=0.1)
        self._schedule = Schedule(self.world, self._starts, self._start_watcher)

    def run(self) -> None:
        raw_bytes, changes._RAW_BYTES = changes._RAW_BYTES, RAW_BYTES
        try:
            self._run()
        finally:
            changes._RAW_BYTES = raw_bytes

    def _run(self) -> None:
        for number in range(len(_NEEDED)):
            self._start_reader(number)
        self._schedule.begin()
        self._disturb()
        self.world.run(self.plan.troubled)
        self._calm_down()
        self.world.run(self.plan.troubled + self.plan.quiet)
        self._converged()

    def new_id(self) -> str:
        return f"id-{next(self._ids)}"

    def _table(self, network: Network) -> CacheTable:
        table = SimulatedTable(self.truth.table, network, self.plan.lifetime, self._ambush)
        if self.plan.other_release is None:
            return table
        tried = 3.0 * self.world.now / self.plan.troubled - 1.0
        if 0.0 <= tried < 1.0 and self.world.random.random() < 0.3 + tried:
            return self.plan.other_release(table)
        return ThisReleasesTable(table)

    def _start_watcher(self) -> None:
        name = f"watcher-{self.new_id()}"
        self._watchers = [actor for actor in self._watchers if not actor.ended]
        self._watchers.append(self.world.start(name, lambda: self._watch(name)))

    def _watch(self, name: str) -> None:
        clock = self.world.clock(self.world.current())
        network = Network(self.world, self._faults)
        elector = LeaderElector(
            SimulatedLock(InMemoryLeaseLock(self.truth.item, self.new_id), network),
            CONFIG,
            name,
            clock,
            self.world.random.random,
            handover=Handover(at=clock.wall() + self.plan.budget, horizon=self.plan.horizon),
        )
        Watcher(
            elector,
            SimulatedCluster(self.world, self.server),
            self._table(network),
            clock=clock,
            sleep=self.world.pause,
            stopped=lambda: False,
            new_id=self.new_id,
            on_published=lambda publication: None,
            retention=self._retention,
        ).run()

    def _start_reader(self, number: int) -> None:
        """Start a warm environment: it reads when a pod arrives, and may be frozen at any moment."""
        environment = self._new_reader()

        def body() -> None:
            nonlocal environment
            while True:
                table, reader = environment
                parts = self._parts_random.choice(_NEEDED[number])
                try:
                    head = table.head()
                    state = reader.at(head, parts=parts)
                except (TableUnavailable, NothingPublished):
                    pass
                else:
                    self._saw(number, reader, head, state, parts)
                is_quiet = self.world.now >= self.plan.troubled
                if self.plan.threads == 1 and self._ends(table, is_quiet=is_quiet):
                    environment = self._new_reader()
                    self.truth.forgot(number)
                # Most reads follow each other within seconds, some after a long pause.
                seldom = not is_quiet and self.world.random.random() < 0.1
                self.world.wait(self.world.random.expovariate(1 / 30 if seldom else 0.5))

        for thread in range(self.plan.threads):
            self._threads.append(self.world.start(f"reader-{number}-{thread}", body))

    def _ends(self, table: CacheTable, *, is_quiet: bool) -> bool:
        """Return whether an environment ends. In the quiet time, all environments of the other release end."""
        if is_quiet:
            return self.plan.other_release is not None and type(table) is not ThisReleasesTable
        return self.world.random.random() < self.plan.cold

    def _new_reader(self) -> tuple[CacheTable, NodeCacheReader[State]]:
        table = self._table(Network(self.world, self._faults))
        reader: NodeCacheReader[State] = NodeCacheReader(table, ObjectsOnlyView(), self.world.pause)  # type: ignore[arg-type]
        reader._catching_up = Mutex(self.world)  # type: ignore[assignment]
        return table, reader

    def _saw(
        self, number: int, reader: NodeCacheReader[State], head: Head | None, state: State, needed: Parts = ALL_PARTS
    ) -> None:
        cursor = reader._cursor
        assert cursor is not None
        assert needed <= cursor.parts, "a reader lacks a part that its caller needs"
        self.truth.observe(number, cursor.version, cursor.uid, state, cursor.parts)
        self.truth.answer(number, head, cursor.version, needed)

    def _disturb(self) -> None:
        disturbances = self.plan.disturbances
        for a_minute, disturb in (
            (disturbances.change, self._change_cluster),
            (disturbances.crash, self._crash_a_watcher),
            (disturbances.freeze, lambda: self._freeze_one_of(self._watchers, min(MINUTE, self.plan.lifetime / 2))),
            (disturbances.freeze_reader, lambda: self._freeze_one_of(self._threads, 200.0)),
            (disturbances.jump, self._jump_a_clock),
            (disturbances.expiry, self.server.compact),
            (disturbances.restart, self._restart_the_server),
            (disturbances.outage, self._outage),
            (disturbances.deletion, self.truth.item.delete),
            (disturbances.ambush, self._ambush.lay),
            (disturbances.spoil, lambda: self.truth.table.spoil(self.world.random)),
        ):
            if a_minute:
                self._again_and_again(a_minute / 60.0, disturb)

    def _again_and_again(self, a_second: float, disturb: Callable[[], None]) -> None:
        def once() -> None:
            if self.world.now < self.plan.troubled:
                disturb()
                self.world.after(self.world.random.expovariate(a_second), once)

        self.world.after(self.world.random.expovariate(a_second), once)

    def _change_cluster(self) -> None:
        random = self.world.random
        resource, name = random.choice(RESOURCES), f"object-{random.randint(0, 5)}"
        if random.random() < 0.3:
            self.server.remove(resource, name)
        else:
            self.server.put(resource, name)

    def _crash_a_watcher(self) -> None:
        alive = [actor for actor in self._watchers if not actor.ended]
        if alive:
            self.world.crash(self.world.random.choice(alive))

    def _freeze_one_of(self, actors: list[Actor], longest: float) -> None:
        alive = [actor for actor in actors if not actor.ended]
        if alive:
            random = self.world.random
            actor, seconds = random.choice(alive), random.uniform(1, longest)
            # If its wall clock is set back too, a process may believe this long that it holds its lease; and an item's
            # lifetime is only seconds here, not days.
            stalls = random.random() < 0.5 and actor.monotonic_lost + seconds <= MINUTE
            self.world.freeze(actor, seconds, monotonic_stalls=stalls, calls=random.randint(0, 8))

    def _jump_a_clock(self) -> None:
        alive = [actor for actor in self._watchers if not actor.ended]
        if alive:
            self.world.random.choice(alive).wall_error += self.world.random.uniform(-100, 100)

    def _restart_the_server(self) -> None:
        self.server.stop()
        forgets = self.world.random.random() < 0.5
        self.world.after(self.world.random.uniform(1, 20), lambda: self.server.start(forgets=forgets))

    def _outage(self) -> None:
        self._stop_all_watchers(self.world.random.uniform(60.0, 2.5 * self.plan.lifetime))

    def _stop_all_watchers(self, seconds: float) -> None:
        for actor in self._watchers:
            self.world.crash(actor)
        self._schedule.pause(seconds)

    def _calm_down(self) -> None:
        """End all faults."""
        for fault in fields(self._faults):
            setattr(self._faults, fault.name, 0.0)
        self._starts.dropped = self._starts.doubled = 0.0
        self._schedule.pause(0.0)
        self.server.start(forgets=False)
        self._ambush.lift()
        for actor in (*self._watchers, *self._threads):
            self.world.thaw(actor)
            self.world.wake(actor)

    def _converged(self) -> None:
        for number in range(len(_NEEDED)):
            state, needed = self.truth.last_seen(number)
            expected = in_parts(self.server.objects, needed)
            assert in_parts(state, needed) == expected, f"reader {number} does not have the state of the cluster"
        self.world.start("cold-reader", self._read_from_nothing)
        self.world.run(self.world.now + 10.0)
        assert self.truth.last_seen(-1)[0] == self.server.objects, (
            "a cold reader does not find the state of the cluster"
        )

    def _read_from_nothing(self) -> None:
        table, reader = self._new_reader()
        head = table.head()
        self._saw(-1, reader, head, reader.at(head))
