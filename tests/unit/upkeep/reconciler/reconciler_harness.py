"""A watcher's reconciler over a table in memory, with a clock that a test drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState
from berth.pods import FoundPod, PodChanged, PodNotFound, PodTouched, ReservedPods, Unanswered
from berth.scheduling.managed_resources.configuration import NODE as NODE_SCOPE
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import NoDomain
from berth.scheduling.managed_resources.pools import Shares, by_owner
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.clock import HandDrivenClock
from tests.fakes.counted_cluster import COUNTING, NAMESPACE, ZONE, CountedCluster

HTTP_TIMEOUT = 5.0
NODE = "node-a"
MAX_STEPS = 10_000


class ReconcilerHarness:
    """A reconciler's cluster, table and clock. Several leaders may lead in turn; each knows the published objects."""

    def __init__(self, *, ready: bool = True, table: LedgerTable | None = None, counting: Counting = COUNTING) -> None:
        self.clock = HandDrivenClock()
        self.cluster = CountedCluster()
        self.table = table or InMemoryLedgerTable()
        self.events: list[ReservationEvent] = []
        self.capacity_releases = 0
        self.attempts = count(1)
        self._ids = count(1)
        self._epoch = 0
        self._counting = counting
        if ready:
            self.table.put_marker(Marker(MarkerState.READY, 0, 0, "ready"), None)

    def lead(
        self,
        pods: ReservedPods | None = None,
        table: LedgerTable | None = None,
        epoch: int | None = None,
        is_lost_with_process: bool = False,
        expiry_check: Callable[[], Callable[[OpenReservation], bool]] | None = None,
        seconds: float | None = None,
    ) -> Reconciler:
        """Return a new leader that knows all published objects. epoch: by default the next epoch. seconds: the time
        for which the leader has worked already."""
        self._epoch = self._epoch + 1 if epoch is None else epoch
        reconciler = Reconciler(
            table or self.table,
            pods or self.cluster,
            self._counting,
            self._epoch,
            HTTP_TIMEOUT,
            wall=self.clock,
            monotonic=self.clock,
            new_id=lambda: f"id-{next(self._ids)}",
            report=self._record,
            on_capacity_released=self._count_release,
            is_lost_with_process=is_lost_with_process,
            expiry_check=expiry_check,
        )
        reconciler.update(*self.cluster.published(), self.clock.now)
        if seconds is not None:
            self.run(reconciler, seconds)
        return reconciler

    def publish(self, *reconcilers: Reconciler, seconds: float | None = None) -> None:
        """Publish the changes so far, and pass them to these leaders. seconds: the time for which each then works."""
        changes = self.cluster.publish()
        for reconciler in reconcilers:
            reconciler.update(*changes, self.clock.now)
            if seconds is not None:
                self.run(reconciler, seconds)

    def run(self, reconciler: Reconciler, seconds: float = 0.0) -> None:
        """Let the leader work for this many seconds, and then until nothing is due at once."""
        until = self.clock.now + seconds
        for _ in range(MAX_STEPS):
            wait = reconciler.work()
            if wait > 0 and self.clock.now >= until:
                return
            self.clock.advance(min(wait, max(0.0, until - self.clock.now)))
        raise AssertionError("there is always something to do at once")

    def node(self, units: int = 8, name: str = NODE) -> None:
        """Add a node with `units` slots, or change its number of slots."""
        self.cluster.nodes[name] = units

    def place(self, name: str, units: int = 1, node: str = NODE, namespace: str = NAMESPACE) -> PodKey:
        """Bind a new pod as another component does."""
        key = self.cluster.create_pod(name, units, namespace)
        self.cluster.place(name, node)
        return key

    def reserve(self, pod: PodKey, units: int = 1, node: str = NODE) -> Entry:
        """Run the steps of a bind before its Binding: `units` of each resource, on the node and in its pools."""
        zones = self.cluster.zones
        demands = [Demand(resource, units) for resource in self._counting.resources]
        floating = self._counting.floating.shares(demands, pod.namespace, {ZONE: zones[node]} if node in zones else {})
        assert not isinstance(floating, NoDomain)
        on_node = {each.resource: units for each in demands if self._counting.floating.scope(each) == NODE_SCOPE}
        return self.reserve_shares(pod, {**on_node, **floating}, node)

    def reserve_shares(self, pod: PodKey, shares: Shares, node: str = NODE) -> Entry:
        """Run the steps of a bind before its Binding. Return an entry with all the shares."""
        entry = Entry(pod, EntryState.RESERVED, f"attempt-{next(self.attempts)}", shares, self.clock.now)
        self.table.put_open(entry.open_on(node))
        wanted = {owner: replace(entry, shares=part) for owner, part in by_owner(shares, node).items()}
        assert Ledger(self.table).reserve(wanted, {}).outcome is LedgerOutcome.DONE
        return entry

    def ledger(self, owner: str = NODE) -> NodeLedger:
        """Return the current ledger after a check of its invariant."""
        found = self.table.node(owner)
        assert found is not None
        check(found)
        return found

    def states(self, owner: str = NODE) -> dict[str, EntryState]:
        """Return the states of the entries by the pod's name."""
        return {entry.pod.name: entry.state for entry in self.ledger(owner).entries.values()}

    def happened(self) -> list[ReservationEventType]:
        """Return the events reported since the last call."""
        found, self.events = [event.type for event in self.events], []
        return found

    def _record(self, event: ReservationEvent) -> None:
        self.events.append(event)

    def _count_release(self) -> None:
        self.capacity_releases += 1


class ForwardingPods(ReservedPods):
    """The pods of a cluster; tests override the methods that must differ."""

    def __init__(self, pods: ReservedPods) -> None:
        self._pods = pods

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        return self._pods.find(pod)

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        return self._pods.list_pods(is_wanted)

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        return self._pods.touch(pod, resource_version)


def check(ledger: NodeLedger) -> None:
    """Check the invariant of a ledger."""
    if ledger.avail is None:
        return
    for pool in {
        *ledger.capacity,
        *ledger.avail,
        *ledger.owed,
        *(p for e in ledger.entries.values() for p in e.shares),
    }:
        avail, owed, capacity = (each.get(pool, 0) for each in (ledger.avail, ledger.owed, ledger.capacity))
        assert avail - owed + ledger.allocated(pool) == capacity, ledger
        assert avail >= 0, ledger
        assert owed >= 0, ledger
        assert avail * owed == 0, ledger
