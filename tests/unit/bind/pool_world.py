"""Two nodes and floating pools with a ledger each, an API server, and binds of one pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from berth.bind.answer import bind
from berth.bind.rules import BindRules, CountedResources
from berth.bind.share import Request, Reservation, Reservations
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindResult
from berth.extender.ports import NodeCache
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import NotWritten, Written
from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import Shares, cluster_pool, namespace_pool
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.clock import HandDrivenClock
from tests.fakes.counted_cluster import (
    FLOATING_SLOTS,
    LIMITED_SLOTS,
    NAMESPACE,
    SEAT,
    SLOT,
    SLOTS_AND_FLOATING_SEATS,
    CountedCluster,
)

NODE, OTHER = "node-a", "node-b"
SLOTS, SEATS, SLOTS_OF_ML = cluster_pool(SLOT), cluster_pool(SEAT), namespace_pool(SLOT, NAMESPACE)
TIMEOUT = 4.0

Answer = Callable[[Binding], Created | Refused | Unanswered]


class CountingTable(InMemoryLedgerTable):
    """Records the calls, and checks that each entry has an open reservation from its write until its release."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def node(self, name: str) -> NodeLedger | None:
        self.calls.append(f"read {name}")
        return super().node(name)

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        self.calls.append(f"write {node}")
        self._check({node: change})
        return super().write(node, change)

    def write_together(
        self, changes: Mapping[str, NodeWrite], opened: OpenReservation | None = None
    ) -> tuple[str, ...] | None:
        self.calls.append(f"write {' and '.join(changes)}")
        failed = super().write_together(changes, opened)
        if failed is None:
            self._check(changes)
        return failed

    def put_open(self, reservation: OpenReservation) -> None:
        self.calls.append("put open")
        super().put_open(reservation)

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        self.calls.append("delete open")
        if any((each.node, each.attempt) == (node, attempt) for each in self.open_reservations()):
            left = {entry.attempt for ledger in self.nodes() for entry in ledger.entries.values()}
            assert attempt not in left, "an entry has no open reservation any more"
        super().delete_open(uid, node, attempt)

    def _check(self, changes: Mapping[str, NodeWrite]) -> None:
        opened = {each.attempt: each.owners for each in self.open_reservations()}
        for owner, change in changes.items():
            for entry in (each.after for each in change.entries if each.after is not None):
                assert owner in opened[entry.attempt]


@dataclass
class Answering(PodBinder):
    """The API server. answer: responds to a Binding; by default the cluster does. before: one action per Binding."""

    cluster: CountedCluster
    answer: Answer | None = None
    before: list[Callable[[], object]] = field(default_factory=list)

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        if self.before:
            self.before.pop()()
        return self.cluster.create_binding(binding, timeout) if self.answer is None else self.answer(binding)

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        return self.cluster.pod(namespace, pod_name, timeout)


class PoolWorld:
    """Two nodes and floating pools with a ledger each, and a pod `a` that requests units of all of them."""

    def __init__(self, counting: Counting, pools: Shares, units: int = 2, nodes: Shares | None = None) -> None:
        """pools: the capacity of the floating pools. nodes: the capacity of each node; by default 8 slots."""
        self.counting = counting
        self.table = CountingTable()
        self.cluster = CountedCluster()
        self.clock = HandDrivenClock()
        self.cache: NodeCache | None = None
        self.ids = count(1)
        for name in (NODE, OTHER):
            self.table.create(new_ledger(name, {SLOT: 8} if nodes is None else nodes, {}, epoch=1))
        for pool, amount in pools.items():
            self.table.create(new_ledger(pool, {pool: amount}, {}, epoch=1))
        self.pod = self.cluster.create_pod("a", units)

    @property
    def reservations(self) -> Reservations:
        return Reservations(self.table, lambda: f"attempt-{next(self.ids)}", self.clock, call_seconds=0.1)

    def binding(self, node: str = NODE) -> Binding:
        return Binding(NAMESPACE, "a", self.pod.uid, node)

    def reserve(self, floating: Shares, *demands: Demand, node: str = NODE) -> Reservation | BindResult:
        """Run the steps of a bind before its Binding."""
        request = Request(demands, floating)
        return self.reservations.reserve(self.binding(node), request, self.counting, lambda: TIMEOUT)

    def bind(self, node: str = NODE, binder: PodBinder | None = None) -> BindResult:
        rules = BindRules(CountedResources(self.counting, self.reservations, cache=self.cache))
        return bind(self.binding(node), binder or self.cluster, Deadline(TIMEOUT, self.clock), rules)

    def occupy(self, owner: str, amount: int) -> None:
        """Give this amount of the owner's only pool to another pod."""
        ledger = self.ledger(owner)
        [pool] = ledger.capacity
        other = Entry(self.cluster.create_pod("other"), EntryState.BOUND, "other", {pool: amount}, 0.0)
        self.table.delete_if_empty(owner, 1)
        self.table.create(new_ledger(owner, ledger.capacity, {other.pod.uid: other}, epoch=1))

    def ledger(self, owner: str) -> NodeLedger:
        found = InMemoryLedgerTable.node(self.table, owner)
        assert found is not None
        return found

    def held(self) -> dict[str, dict[str, int]]:
        """Return the shares of the pod, by owner."""
        ledgers = {ledger.owner: ledger.entries.get(self.pod.uid) for ledger in self.table.nodes()}
        return {owner: dict(entry.shares) for owner, entry in ledgers.items() if entry is not None}

    def attempts(self) -> dict[str, str]:
        """Return the attempts that own the pod's entries, by owner."""
        uid = self.pod.uid
        return {each.owner: each.entries[uid].attempt for each in self.table.nodes() if uid in each.entries}


def floating_slots(units: int = 2) -> PoolWorld:
    """Return a world that counts slots only in the cluster, which has 8."""
    return PoolWorld(FLOATING_SLOTS, {SLOTS: 8}, units)


def slots_and_seats(units: int = 2) -> PoolWorld:
    """Return a world with 8 slots on each node and 5 seats in the cluster; the pod requests as many seats as slots."""
    return PoolWorld(SLOTS_AND_FLOATING_SEATS, {SEATS: 5}, units)


def limited_slots(units: int = 2) -> PoolWorld:
    """Return a world with 8 slots on each node, and at most 6 for all pods of a namespace."""
    return PoolWorld(LIMITED_SLOTS, {SLOTS_OF_ML: 6}, units)
