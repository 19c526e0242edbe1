"""Watchers beside the binds of gangs: the real watch of gangs and the real reconciler, as the leader runs them.

A watcher may die at any of its calls. Its successor begins a second later, with the published state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from berth.ledger.gangs.item import GangState
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.entry import EntryState
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState
from berth.pods import ReservedPods
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.gangs.members import lives
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth.upkeep.gangs import POLL_SECONDS, GangWatch
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.fakes.intercepted import interrupted
from tests.simulation.world import EPOCH

from .binds import COUNTING, POLICY, GangWorld

PUBLISH_SECONDS = 0.5
CALL_SECONDS = 0.001
SUCCESSOR_SECONDS = 1.0

LATEST_SECONDS = 30.0 + 5 * POLL_SECONDS
"""Time in seconds after the last call has died until a gang is completely committed or gone: the age at which the watch
and the reconciler act, and a few of their polls."""


class WatcherDied(BaseException):
    """Ends the watcher's process."""


class Watchers:
    """The watchers of a world, in succession or two at once; an earlier watcher does not know of a later one."""

    def __init__(self, world: GangWorld, *, dies_at: int | None = None) -> None:
        """dies_at: the number of the boundary before or after a call at which the first watcher dies."""
        self._world = world
        self._dies_at = dies_at
        self._epoch = 1
        self.boundaries = 0
        """Number of call boundaries that the first watcher has passed."""
        world.ledger.put_marker(Marker(MarkerState.READY, 1, EPOCH, "ready"), world.ledger.marker())

    def start(self, *, after: float = 0.0) -> None:
        self._epoch += 1
        epoch = self._epoch
        self._world.world.start(f"watcher {epoch}", lambda: self._run(epoch, after))

    def _run(self, epoch: int, after: float) -> None:
        self._world.world.pause(after)
        try:
            self._watch(epoch)
        except WatcherDied:
            self.start(after=SUCCESSOR_SECONDS)

    def _watch(self, epoch: int) -> None:
        world, wall = self._world, self._world.wall
        between = self._boundary if epoch == 2 else self._pause
        published: list[Snapshot] = []

        def on_nodes(key: GangKey) -> Collection[str]:
            members = POLICY.members_of(key, published[-1]).values()
            return [pod.uid for pod in members if pod.node_name and lives(pod)]

        pods = interrupted(ReservedPods, lambda: world.pods, between)
        watch = GangWatch(
            interrupted(GangTable, lambda: world.gangs, between), pods, on_nodes, wall, lambda event: None, lambda: None
        )
        reconciler = Reconciler(
            interrupted(LedgerTable, lambda: world.ledger, between),
            pods,
            COUNTING,
            epoch,
            5.0,
            wall=wall,
            monotonic=wall,
            new_id=lambda: f"id-{epoch}-{world.world.steps}",
            report=lambda event: None,
            on_capacity_released=lambda: None,
            expiry_check=watch.expiry_check,
        )
        known: Mapping[str, Pod] = {}
        look_at = 0.0
        while True:
            known = self._publish(reconciler, known, published)
            while reconciler.work() <= 0.0:
                pass
            if world.world.now >= look_at:
                watch.work()
                look_at = world.world.now + POLL_SECONDS
            world.world.pause(PUBLISH_SECONDS)

    def _publish(
        self, reconciler: Reconciler, known: Mapping[str, Pod], published: list[Snapshot]
    ) -> Mapping[str, Pod]:
        snapshot, pods = self._world.publish()
        if published and published[-1] is snapshot:
            reconciler.update({}, {}, self._world.wall())
            return pods
        published[:] = [snapshot]
        gone = dict.fromkeys(known.keys() - pods.keys())
        reconciler.update(snapshot.nodes, {**gone, **pods}, self._world.wall())
        return pods

    def _pause(self) -> None:
        self._world.world.pause(CALL_SECONDS)

    def _boundary(self) -> None:
        self._pause()
        if self.boundaries == self._dies_at:
            raise WatcherDied
        self.boundaries += 1


def assert_given_back_or_committed(world: GangWorld, case: object) -> None:
    """Assert that only members on nodes hold reservations, and that no gang is still being placed."""
    items = {item.key: item.state for item in world.gangs.gangs()}
    assert not {GangState.OPEN, GangState.PREPARING, GangState.ROLLING_BACK} & set(items.values()), f"{case}: {items}"
    assert world.gangs.domain().open is None, f"{case}: the domain is not closed"
    assert world.ledger.open_reservations() == [], f"{case}: {world.ledger.open_reservations()}"
    entries = {entry.pod.name: entry.state for node in world.ledger.nodes() for entry in node.entries.values()}
    counted = {name for name in world.bound(None) if world.is_counted(name)}
    assert entries == dict.fromkeys(counted, EntryState.BOUND), f"{case}: {entries}, on nodes: {counted}"
