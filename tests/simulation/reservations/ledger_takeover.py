"""A bind of one store, and the takeover by another one before any of its calls: real bind, holder and reconciler.

The bind may be paused for as long as a takeover lasts, without noticing it: its deadline stands still. Its Binding may
arrive after everything else. What must hold is the capacity of the node, whoever counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

from berth.bind.answer import bind
from berth.bind.rules import BindRules, CountedResources, CountingRight
from berth.bind.share import Reservations
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import Binding, Created, FoundPod, PodBinder, PodTouched, Refused, Unanswered
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.ledger_holder import LedgerHolder
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import COUNTING, NAMESPACE, CountedCluster
from tests.fakes.ledger_lease import IdentityInMemory, LeaseInMemory
from tests.unit.lease.clocks import EnvironmentClock

NODE, HTTP_TIMEOUT, TAKEOVER_SECONDS = "n1", 5.0, 200
CALLS = 6
"""More than a bind makes; the last is after its end."""


class Variant(StrEnum):
    CORRECT = "correct"
    UNCHECKED = "bind does not read the Lease"
    CHECKED_FIRST = "bind reads the Lease before the pod"
    NOT_REBUILT = "the takeover requests no rebuild"
    TOUCHES_NOTHING = "the rebuild does not invalidate Bindings"


class _Untouched(CountedCluster):
    def touch(self, pod: PodKey, resource_version: str) -> PodTouched:
        return PodTouched()


class HolderWithoutRebuild(LedgerHolder):
    def _request_rebuild(self) -> Marker:
        return Marker(MarkerState.REBUILDING, 0, 0.0, "not requested")


class Store:
    """A ledger of its own with its watcher, on the cluster that all share."""

    def __init__(self, name: str, lease: LeaseInMemory, cluster: CountedCluster, variant: Variant) -> None:
        self._cluster = cluster
        self._lease = lease
        self._variant = variant
        self._name = name
        self.clock = EnvironmentClock()
        self.table = InMemoryLedgerTable()
        self.table.put_marker(Marker(MarkerState.READY, 0, 0.0, "embedded"), None)
        self.identity = IdentityInMemory(name)
        self._ids = count()
        self._holder = (HolderWithoutRebuild if variant is Variant.NOT_REBUILT else LedgerHolder)(
            lease, self.table, self.identity, lambda refusal: None, self.clock, lambda: 0.0, self._new_id, name=name
        )
        self._reconciler = Reconciler(
            self.table,
            cluster,
            COUNTING,
            1,
            HTTP_TIMEOUT,
            wall=self.clock.wall,
            monotonic=self.clock.monotonic,
            new_id=self._new_id,
            report=lambda event: None,
            on_capacity_released=lambda: None,
        )

    def work(self, seconds: int) -> None:
        """The watcher publishes, reconciles and steps, once a second."""
        for _ in range(seconds):
            self._cluster.publish()
            self._reconciler.update(*self._cluster.published(), self.clock.wall())
            for _ in range(8):
                self._reconciler.work()
            self._holder.step()
            self.clock.advance(1.0)

    def bind(
        self, name: str, wire: Callable[[str], None] | None = None, late: list[Callable[[], object]] | None = None
    ) -> BindResult:
        """bind of this store. wire: called before each of its calls to the cluster and the ledger's Lease."""
        carry = wire or (lambda call: None)
        right: CountingRight | None = CheckedRight(CountingRight(self._lease, self.identity), carry)
        if self._variant is Variant.UNCHECKED:
            right = None
        elif self._variant is Variant.CHECKED_FIRST:
            assert right is not None
            refusal = right.refusal(1.0)
            if refusal is not None:
                return refusal
            right = None
        reservations = Reservations(self.table, self._new_id, self.clock.wall, call_seconds=0.1)
        pod = self._cluster.pods[name].key
        return bind(
            Binding(NAMESPACE, name, pod.uid, NODE),
            BoundBinder(self._cluster, carry, late),
            Deadline(HTTP_TIMEOUT, lambda: 0.0),
            BindRules(CountedResources(COUNTING, reservations, right)),
        )

    def _new_id(self) -> str:
        return f"{self._name}-{next(self._ids)}"


class CheckedRight(CountingRight):
    def __init__(self, check: CountingRight, carry: Callable[[str], None]) -> None:
        self._check = check
        self._carry = carry

    def refusal(self, timeout: float) -> BindResult | None:
        self._carry("Lease")
        found = self._check.refusal(timeout)
        self._carry("reserve")
        return found


class BoundBinder(PodBinder):
    """late: where the Binding waits until it is carried out; None: it is carried out at once."""

    def __init__(
        self, cluster: CountedCluster, carry: Callable[[str], None], late: list[Callable[[], object]] | None
    ) -> None:
        self._cluster = cluster
        self._carry = carry
        self._late = late

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        self._carry("pod")
        return self._cluster.pod(namespace, pod_name, timeout)

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        self._carry("Binding")
        if self._late is None:
            return self._cluster.create_binding(binding, timeout)
        self._late.append(lambda: self._cluster.create_binding(binding, timeout))
        return Unanswered("no answer")


@dataclass
class Case:
    """acquired_at, finished_at: before which calls the second store acquires the Lease, and ends its takeover and binds
    a pod of its own. is_late: the first store's Bindings arrive after all."""

    variant: Variant
    acquired_at: int
    finished_at: int
    is_late: bool
    calls: list[str] = field(default_factory=list)

    def run(self) -> tuple[BindResult, BindResult]:
        """The results of the first and of the second store's bind. Raises AssertionError where the node has too few."""
        lease = LeaseInMemory()
        cluster = _Untouched() if self.variant is Variant.TOUCHES_NOTHING else CountedCluster()
        cluster.nodes[NODE] = 1
        first, second = (Store(name, lease, cluster, self.variant) for name in ("first", "second"))
        first.work(5)
        second.work(5)
        cluster.create_pod("a")
        cluster.create_pod("b")
        results: list[BindResult] = []

        def carry(call: str) -> None:
            at = len(self.calls)
            self.calls.append(call)
            if at == self.acquired_at:
                # From the last renewal on, the first store's watcher stands still.
                second.clock.advance(40)
                second.work(1)
            if at == self.finished_at:
                second.work(TAKEOVER_SECONDS)
                results.append(second.bind("b"))
                self._check(cluster)

        late: list[Callable[[], object]] | None = [] if self.is_late else None
        found = first.bind("a", carry, late)
        while len(self.calls) < CALLS + self.finished_at:
            carry("after the end")
        for arrive in late or ():
            arrive()
        self._check(cluster)
        return found, results[0]

    def _check(self, cluster: CountedCluster) -> None:
        assert cluster.used(NODE) <= cluster.nodes[NODE], f"both pods are on the node; calls: {self.calls}"


def cases(variant: Variant) -> Iterator[Case]:
    """Every pair of calls, with Bindings at once and late."""
    for acquired_at in range(CALLS):
        for finished_at in range(acquired_at, CALLS):
            for is_late in (False, True):
                yield Case(variant, acquired_at, finished_at, is_late)


BOUND = (BindOutcome.BOUND, BindOutcome.ALREADY_BOUND)
