"""A store with its watcher on a cluster of one node with one seat: real bind, holder and reconciler."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from berth.bind.answer import bind
from berth.bind.rules import BindRules, CountedResources, CountingRight
from berth.bind.share import Reservations
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindResult
from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.upkeep.ledger_holder import LedgerHolder
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import COUNTING, NAMESPACE, CountedCluster
from tests.fakes.ledger_lease import IdentityInMemory, LeaseInMemory
from tests.unit.lease.clocks import EnvironmentClock

NODE, HTTP_TIMEOUT = "n1", 5.0
CALLS = 6
"""More calls than a bind makes: an action before the last call happens after the end of the bind."""

OVERCOMMITTED = "both pods are on the node"


class HolderWithoutRebuild(LedgerHolder):
    def _request_rebuild(self) -> Marker:
        return Marker(MarkerState.REBUILDING, 0, 0.0, "not requested")


class Store:
    """A separate ledger with its watcher, on the shared cluster."""

    def __init__(
        self,
        name: str,
        lease: LeaseInMemory,
        cluster: CountedCluster,
        *,
        is_rebuilt: bool = True,
        random: float = 0.0,
        is_lost_with_process: bool = False,
    ) -> None:
        """is_rebuilt: whether the holder requests a rebuild when it acquires the Lease."""
        self._cluster, self._lease, self._name = cluster, lease, name
        self.clock = EnvironmentClock()
        self.table = InMemoryLedgerTable()
        self.identity = IdentityInMemory(name)
        self._ids = count()
        self._holder = (LedgerHolder if is_rebuilt else HolderWithoutRebuild)(
            lease, self.table, self.identity, lambda refusal: None, self.clock, lambda: random, self._new_id, name=name
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
            is_lost_with_process=is_lost_with_process,
        )

    def step(self, *, publishes: bool = True) -> None:
        """Publish, reconcile and run a step of the holder. publishes: whether the watch of pods works."""
        if publishes:
            self._cluster.publish()
            self._reconciler.update(*self._cluster.published(), self.clock.wall())
        for _ in range(8):
            self._reconciler.work()
        self._holder.step()

    def bind(
        self, name: str, call: Callable[[str], None] | None = None, late: list[Callable[[], object]] | None = None
    ) -> BindResult:
        """Run bind on this store. call: runs before each call. late: list in which the Binding waits, or None."""
        carry = call or (lambda what: None)
        reservations = Reservations(self.table, self._new_id, self.clock.wall, call_seconds=0.1)
        right = self._right(carry)
        if isinstance(right, BindResult):
            return right
        return bind(
            Binding(NAMESPACE, name, self._cluster.pods[name].key.uid, NODE),
            _BoundBinder(self._cluster, carry, late),
            Deadline(HTTP_TIMEOUT, lambda: 0.0),
            BindRules(CountedResources(COUNTING, reservations, right)),
        )

    def _right(self, carry: Callable[[str], None]) -> CountingRight | BindResult | None:
        """Return the check of the Lease that bind uses, or a result that ends the bind."""
        return CheckedRight(CountingRight(self._lease, self.identity), carry)

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


class _BoundBinder(PodBinder):
    """A binder. late: list in which the Binding waits until it is carried out; None: it is carried out at once."""

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


def check(cluster: CountedCluster, calls: list[str]) -> None:
    assert cluster.used(NODE) <= cluster.nodes[NODE], f"{OVERCOMMITTED}; calls: {calls}"
