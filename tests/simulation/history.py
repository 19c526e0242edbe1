"""One history: watchers that come and go, readers, a cluster that changes, and faults, all drawn from a seed.

After every step the invariants are checked; at the end there is quiet, and everybody must have come to the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from berth.lease.config import HandOver, LeaderElectionConfig
from berth.lease.elector import LeaderElector
from berth.lease.in_memory_lock import InMemoryLeaseLock
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.watcher import Watcher
from tests.simulation.cluster import ApiServer, SimulatedCluster
from tests.simulation.table import Faults, Network, SimulatedLock, SimulatedTable
from tests.simulation.truth import ObjectsOnlyView, Truth
from tests.simulation.world import Actor, World

CONFIG = LeaderElectionConfig()
MINUTE = 60.0


@dataclass(slots=True)
class Plan:
    """What a history is made of. Times are seconds."""

    seed: int
    troubled: float = 300.0
    quiet: float = 180.0
    budget: float = 100.0
    horizon: float = 150.0
    readers: int = 2
    faults: Faults = field(default_factory=lambda: Faults(0.02, 0.02, 0.02, 0.1))


class History:
    """Runs a plan. Raises AssertionError, with the seed in it, where an invariant does not hold."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.truth = Truth()
        self.world = World(plan.seed, self._check)
        self.server = ApiServer(self.world)
        self._ids = count(1)
        self._watchers: list[Actor] = []
        self._faults = plan.faults

    def run(self) -> None:
        """The troubled time, then the quiet one."""
        for number in range(self.plan.readers):
            self._start_reader(number)
        self._every_minute()
        self._disturb()
        self.world.run(self.plan.troubled)
        self._calm_down()
        self.world.run(self.plan.troubled + self.plan.quiet)
        self._converged()

    def _new_id(self) -> str:
        return f"id-{next(self._ids)}"

    def _check(self) -> None:
        self.truth.check()

    # ------------------------------------------------------------------------------------------------------ watchers
    def _every_minute(self) -> None:
        """EventBridge Scheduler: anywhere within the minute, sometimes twice, sometimes not at all."""
        random = self.world.random
        starts = random.choices((0, 1, 2), (0.1, 0.8, 0.1))[0] if self._faults.lost else 1
        for _ in range(starts):
            self.world.after(random.uniform(0.0, MINUTE), self._start_watcher)
        self.world.after(MINUTE, self._every_minute)

    def _start_watcher(self) -> None:
        actor: Actor
        name = f"watcher-{self._new_id()}"

        def body() -> None:
            clock = self.world.clock(actor)
            network = Network(self.world, self._faults)
            table = SimulatedTable(self.truth.table, network)
            elector = LeaderElector(
                SimulatedLock(InMemoryLeaseLock(self.truth.item, self._new_id), network),
                CONFIG,
                name,
                clock,
                self.world.random.random,
                handover=HandOver(at=clock.wall() + self.plan.budget, horizon=self.plan.horizon),
            )
            Watcher(
                elector,
                SimulatedCluster(self.world, self.server),
                table,
                clock=clock,
                sleep=self.world.pause,
                stopped=lambda: False,
                new_id=self._new_id,
                on_published=lambda changes: None,
            ).run()

        actor = self.world.start(name, body)
        self._watchers.append(actor)

    # ------------------------------------------------------------------------------------------------------- readers
    def _start_reader(self, number: int) -> None:
        """A warm environment: it asks when a pod comes, and may be frozen in between."""

        def body() -> None:
            network = Network(self.world, self._faults)
            table = SimulatedTable(self.truth.table, network)
            reader = NodeCacheReader(table, ObjectsOnlyView(), self.world.pause)
            while True:
                try:
                    state = reader.at(table.head())
                except (TableUnavailable, NothingPublished):
                    pass
                else:
                    self.truth.saw(number, reader.version, state)
                # Some are asked every second, and all are frozen for a while now and then.
                seldom = self.world.random.random() < 0.1
                self.world.pause(self.world.random.expovariate(1 / 30 if seldom else 1.0))

        self.world.start(f"reader-{number}", body)

    # ------------------------------------------------------------------------------------------------------- trouble
    def _disturb(self) -> None:
        if self._faults.lost:
            self._one_of(
                (10, self._change_cluster),
                (0.1, self._crash_a_watcher),
                (0.3, self._freeze_a_watcher),
                (0.2, self._jump_a_clock),
                (0.1, self.server.compact),
                (0.1, self._restart_the_server),
            )()
            self.world.after(self.world.random.expovariate(2.0), self._disturb)

    def _one_of(self, *choices: tuple[float, Callable[[], None]]) -> Callable[[], None]:
        weights = [weight for weight, _ in choices]
        return self.world.random.choices([do for _, do in choices], weights)[0]

    def _change_cluster(self) -> None:
        random = self.world.random
        resource, name = random.choice(("nodes", "pods")), f"object-{random.randint(0, 5)}"
        if random.random() < 0.3:
            self.server.remove(resource, name)
        else:
            self.server.put(resource, name)

    def _crash_a_watcher(self) -> None:
        alive = [actor for actor in self._watchers if not actor.ended]
        if alive:
            self.world.crash(self.world.random.choice(alive))

    def _freeze_a_watcher(self) -> None:
        alive = [actor for actor in self._watchers if not actor.ended]
        if alive:
            random = self.world.random
            self.world.freeze(random.choice(alive), random.uniform(1, 60), monotonic_stalls=random.random() < 0.5)

    def _jump_a_clock(self) -> None:
        alive = [actor for actor in self._watchers if not actor.ended]
        if alive:
            self.world.random.choice(alive).wall_error += self.world.random.uniform(-100, 100)

    def _restart_the_server(self) -> None:
        self.server.down = True
        self.world.after(self.world.random.uniform(1, 20), self._server_is_back)

    def _server_is_back(self) -> None:
        self.server.down = False

    def _calm_down(self) -> None:
        """From now on nothing goes wrong, and nothing changes in the cluster."""
        self._faults.throttled = self._faults.lost = self._faults.late = self._faults.stale = 0.0
        self.server.down = False
        for actor in self._watchers:
            actor.frozen_until = 0.0

    def _converged(self) -> None:
        for number in range(self.plan.readers):
            state = self.truth.last_seen(number)
            assert state == self.server.objects, f"reader {number} has not come to the state of the cluster"
