"""bind with all faults that can occur between it, the ledger and the API server: call by call, in one thread.

The invariants are checked at every version of the ledger and at every Binding, not only at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any, TypeVar

from berth.bind.answer import bind
from berth.bind.rules import EVERY_POD, BindRules, CountedResources
from berth.bind.share import Reservations
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.ledger.nodes.entry import EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import LedgerTable, NotWritten, Written
from berth.pods import BERTH_SCHEDULERS, Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.configuration.document import BerthConfiguration, BindConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.expiry import Expiry, ExpiryOutcome
from berth.upkeep.reconciler.node_reconciliation import NodeReconciliation
from berth.upkeep.reconciler.published_pods import PublishedPods
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.clock import HandDrivenClock
from tests.fakes.intercepted import intercepted
from tests.fakes.pods import PodsInMemory, StoredPod

T = TypeVar("T")

LICENCE, GPU_MEMORY = "example.com/licence", "example.com/gpumem"
COUNTING = (
    BerthConfiguration.model_validate(
        {
            "managedResources": [
                {"name": LICENCE},
                {"name": GPU_MEMORY, "devices": {"sizes": {"nodeAnnotation": "example.com/gpus"}}},
            ]
        }
    )
    .policy()
    .counting
)

NODES = ("n1", "n2")
CAPACITY = {LICENCE: 4, f"{GPU_MEMORY}#0": 8000, f"{GPU_MEMORY}#1": 8000}
HTTP_TIMEOUT = 5.0
EXPIRY_SECONDS = 30.0
EPOCH = 7


class Died(BaseException):
    """Ends the process at this call. Berth's code never catches it."""


class Fault(StrEnum):
    """A fault at a call. LATE: the call is not answered, and is carried out some time later."""

    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    LOST = "the answer is lost"
    UNSENT = "it never arrives"
    LATE = "it arrives late"


@dataclass
class Wire:
    """Connects a bind with the rest of the world. Calls are counted from 0. answered: names of calls without faults."""

    faults: Mapping[int, Fault] = field(default_factory=dict)
    before: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    late: list[Callable[[], object]] = field(default_factory=list)
    answered: frozenset[str] = frozenset()

    def carry(self, name: str, effect: Callable[[], T], unanswered: Callable[[], T]) -> T:
        index = len(self.calls)
        self.calls.append(name)
        action = self.before.get(index)
        if action is not None:
            action()
        match None if name in self.answered else self.faults.get(index):
            case None:
                return effect()
            case Fault.DIES_BEFORE:
                raise Died
            case Fault.DIES_AFTER:
                effect()
                raise Died
            case Fault.LOST:
                effect()
            case Fault.LATE:
                self.late.append(effect)
            case Fault.UNSENT:
                pass
        return unanswered()

    def deliver(self) -> None:
        for effect in self.late:
            effect()
        self.late.clear()


def no_table() -> T:  # type: ignore[type-var]
    raise TableUnavailable("ledger table: no answer")


REQUESTS = {
    "node": "GetItem",
    "write": "UpdateItem",
    "write_together": "TransactWriteItems ledgers",
    "put_open": "PutItem",
    "delete_open": "DeleteItem",
}
"""Maps the table's methods that bind calls to their names on the wire."""


def wired_table(table: LedgerTable, wire: Wire) -> LedgerTable:
    def around(method: str, _: tuple[Any, ...], effect: Callable[[], Any]) -> Any:
        return wire.carry(REQUESTS[method], effect, no_table)

    return intercepted(LedgerTable, lambda: table, around)


class WiredBinder(PodBinder):
    """The API server over the wire. A call takes no time if it is answered."""

    def __init__(self, binder: PodBinder, wire: Wire, clock: HandDrivenClock) -> None:
        self._binder = binder
        self._wire = wire
        self._clock = clock

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        return self._wire.carry(
            "Binding", lambda: self._binder.create_binding(binding, timeout), lambda: self._silence(timeout)
        )

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        return self._wire.carry(
            "GET", lambda: self._binder.pod(namespace, pod_name, timeout), lambda: self._silence(timeout)
        )

    def _silence(self, timeout: float) -> Unanswered:
        # Not the whole timeout: most faults break a connection at once.
        self._clock.advance(timeout / 4)
        return Unanswered("no answer")


class CheckedTable(InMemoryLedgerTable):
    check: Callable[[], None]
    versions = 0

    def _put(self, ledger: NodeLedger) -> Written:
        written = super()._put(ledger)
        assert_adds_up(ledger)
        self.versions += 1
        return written

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        written = super().write(node, change)
        self.check()
        return written

    def write_together(
        self, changes: Mapping[str, NodeWrite], opened: OpenReservation | None = None
    ) -> tuple[str, ...] | None:
        failed = super().write_together(changes, opened)
        self.check()
        return failed


def assert_adds_up(ledger: NodeLedger) -> None:
    """Assert that no more is reserved than exists."""
    if ledger.avail is None:
        return
    avail = ledger.avail
    for pool in {*ledger.capacity, *avail, *(pool for each in ledger.entries.values() for pool in each.shares)}:
        capacity = ledger.capacity.get(pool, 0)
        assert ledger.allocated(pool) <= capacity, (
            f"{ledger.owner} has {capacity} of {pool} and gave {ledger.allocated(pool)}"
        )
        assert avail.get(pool, 0) == capacity - ledger.allocated(pool), f"{pool} of {ledger.owner} does not add up"
    assert not ledger.owed, f"{ledger.owner} owes {dict(ledger.owed)}"


class CheckedPods(PodsInMemory):
    """Stores pods, and checks every Binding that is carried out."""

    check: Callable[[], None]

    def __init__(self) -> None:
        super().__init__()
        self.ever_bound: set[tuple[str, str]] = set()
        self.as_bound: dict[str, StoredPod] = {}
        """Maps UIDs to pods as their Bindings left them: owners may change the annotations afterwards."""

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        result = super().create_binding(binding, timeout)
        if isinstance(result, Created):
            assert (binding.pod_uid, binding.node) not in self.ever_bound
            self.ever_bound.add((binding.pod_uid, binding.node))
            self.as_bound[binding.pod_uid] = self.all()[binding.namespace, binding.pod_name]
            self.check()
        return result


class BindWorld:
    """Two nodes, their ledgers, an API server, and a watcher that works when its methods are called."""

    def __init__(self) -> None:
        self.clock = HandDrivenClock()
        self.pods = CheckedPods()
        self.table = CheckedTable()
        self.pods.check = self.table.check = self._assert_placed_pods_are_in_the_ledger
        self.too_large: set[str] = set()
        """UIDs of pods that the cache cannot hold: they are not published."""
        self._epoch = EPOCH
        self._kept: dict[str, tuple[PodKey, str]] = {}
        """Maps UIDs to the pods that this leader found on a node at the API server, with the node."""
        self._ids = count(1)
        self._decoded: dict[tuple[tuple[str, str], int], Pod] = {}
        for node in NODES:
            self.table.create(new_ledger(node, CAPACITY, {}, EPOCH))

    def bind(
        self,
        name: str,
        uid: str,
        node: str,
        wire: Wire | None = None,
        limits: BindConfiguration = EVERY_POD,
        schedulers: frozenset[str] = BERTH_SCHEDULERS,
    ) -> BindOutcome | None:
        """Run one call of bind; return None if its process died."""
        wire = wire or Wire()
        reservations = Reservations(
            wired_table(self.table, wire), lambda: f"attempt-{next(self._ids)}", self.clock, call_seconds=0.05
        )
        binder = WiredBinder(self.pods, wire, self.clock)
        deadline = Deadline(HTTP_TIMEOUT - 1, self.clock)
        binding = Binding("ml", name, uid, node)
        try:
            rules = BindRules(CountedResources(COUNTING, reservations), limits, schedulers=schedulers)
            outcome = bind(binding, binder, deadline, rules).outcome
        except Died:
            return None
        if outcome in (BindOutcome.BOUND, BindOutcome.ALREADY_BOUND):
            assert (uid, node) in self.pods.ever_bound, "bind says that the pod is where it never was"
        return outcome

    def expire(self, least_age: float = EXPIRY_SECONDS) -> None:
        """Let the watcher review the open reservations and the entries that are old enough."""
        expiry = Expiry(self.table, self.pods, self._epoch)
        found = {(each.pod.uid, each.node, each.attempt): each for each in self.table.open_reservations()}
        for ledger in self.table.nodes():
            for entry in ledger.entries.values():
                if entry.state is EntryState.RESERVED:
                    trace = OpenReservation(entry.pod, ledger.owner, entry.attempt, entry.shares, entry.since)
                    found.setdefault((entry.pod.uid, ledger.owner, entry.attempt), trace)
        for reservation in found.values():
            if self.clock() - reservation.since < least_age:
                continue
            if expiry.expire(reservation).outcome is ExpiryOutcome.ON_NODE:
                self._kept[reservation.pod.uid] = reservation.pod, reservation.node

    def publish(self) -> None:
        """Let the watcher publish the state of the cluster and reconcile the ledgers."""
        published = PublishedPods(COUNTING)
        pods = {
            f"{key[0]}/{key[1]}": self._read(key, pod)
            for key, pod in self.pods.all().items()
            if pod.uid not in self.too_large
        }
        annotations = {"example.com/gpus": "8000,8000"}
        nodes = {name: NodeInfo(name, {}, allocatable={LICENCE: 4}, annotations=annotations) for name in NODES}
        published.update(nodes, pods)
        # The watcher learns of the end of a known pod even if the pod is too large for the cache.
        there = {pod.uid for pod in self.pods.all().values()}
        self._kept = {uid: kept for uid, kept in self._kept.items() if uid in there}
        for kept, node in self._kept.values():
            published.keep(kept, node, (node,))
        reconciliation = NodeReconciliation(
            self.table, self.pods, published, self._epoch, self.clock, lambda event: None, lambda: True
        )
        for node in NODES:
            reconciliation.reconcile(node)

    def hand_over(self) -> None:
        """Let another watcher lead: it knows the published state, and claims each ledger with its first publication."""
        self._epoch += 1
        self._kept.clear()
        self.publish()

    def recover(self) -> None:
        self.clock.advance(EXPIRY_SECONDS + HTTP_TIMEOUT)
        self.publish()
        self.expire()
        self.publish()
        self.expire()

    def assert_consistent(self) -> None:
        """Assert that each ledger has exactly the pods on its node, and that everything else is free again."""
        for ledger in self.table.nodes():
            placed = {pod.uid for pod in self.pods.all().values() if pod.node == ledger.owner}
            assert set(ledger.entries) == placed, f"{ledger.owner} holds {set(ledger.entries)}, has {placed}"
            assert all(entry.state is EntryState.BOUND for entry in ledger.entries.values())
            assert_adds_up(ledger)
        assert self.table.open_reservations() == []

    def _assert_placed_pods_are_in_the_ledger(self) -> None:
        """Assert that every pod on a node has an entry there that covers the pod's shares."""
        for key, pod in self.pods.all().items():
            ledger = self.table.node(pod.node) if pod.node else None
            if not pod.node or pod.deleting:
                continue
            assert ledger is not None
            read = self._read(key, self.pods.as_bound.get(pod.uid, pod))
            if not COUNTING.demands(read):
                continue
            entry = ledger.entries.get(pod.uid)
            assert entry is not None, f"{pod.uid} is on {pod.node}, and its ledger does not know of it"
            held = COUNTING.shares(read, ledger.capacity)
            assert held is not None
            assert all(entry.shares.get(pool, 0) >= amount for pool, amount in held.items()), "more than is written"

    def _read(self, key: tuple[str, str], pod: StoredPod) -> Pod:
        """Decode a pod; each version once, because it never changes."""
        version = key, pod.resource_version
        known = self._decoded.get(version)
        if known is None:
            read = read_pod(pod.content(*key))
            assert isinstance(read, Pod)
            self._decoded[version] = known = read
        return known
