"""A bind of one store, and a takeover by another store before any of its calls: real bind, holder and reconciler.

The bind may be paused for a whole takeover and does not notice: its deadline does not advance. Its Binding may arrive
after everything else. The node's capacity must never be exceeded, whichever store counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from berth.bind.rules import CountingRight
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import PodTouched
from berth.scheduling.objects.pod import PodKey
from tests.fakes.counted_cluster import CountedCluster
from tests.fakes.ledger_lease import LeaseInMemory
from tests.simulation.reservations.one_seat import CALLS, NODE, CheckedRight, Store, check

TAKEOVER_SECONDS = 200


class Variant(StrEnum):
    CORRECT = "correct"
    UNCHECKED = "bind does not read the Lease"
    CHECKED_FIRST = "bind reads the Lease before the pod"
    NOT_REBUILT = "the takeover requests no rebuild"
    TOUCHES_NOTHING = "the rebuild does not invalidate Bindings"


class _Untouched(CountedCluster):
    def touch(self, pod: PodKey, resource_version: str) -> PodTouched:
        return PodTouched()


class VariantStore(Store):
    def __init__(self, name: str, lease: LeaseInMemory, cluster: CountedCluster, variant: Variant) -> None:
        super().__init__(name, lease, cluster, is_rebuilt=variant is not Variant.NOT_REBUILT)
        self._variant = variant
        self.table.put_marker(Marker(MarkerState.READY, 0, 0.0, "embedded"), None)

    def work(self, seconds: int) -> None:
        """Let the watcher work once a second."""
        for _ in range(seconds):
            self.step()
            self.clock.advance(1.0)

    def _right(self, carry: Callable[[str], None]) -> CountingRight | BindResult | None:
        if self._variant is Variant.UNCHECKED:
            return None
        right = CheckedRight(CountingRight(self._lease, self.identity), carry)
        return right.refusal(1.0) if self._variant is Variant.CHECKED_FIRST else right


@dataclass
class Case:
    """acquired_at: the call before which the second store acquires the Lease. finished_at: the call before which it
    ends its takeover and binds its own pod. is_late: the first store's Bindings arrive at the end."""

    variant: Variant
    acquired_at: int
    finished_at: int
    is_late: bool
    calls: list[str] = field(default_factory=list)

    def run(self) -> tuple[BindResult, BindResult]:
        """Return the results of both stores' binds. Raises AssertionError if the node is overcommitted."""
        lease = LeaseInMemory()
        cluster = _Untouched() if self.variant is Variant.TOUCHES_NOTHING else CountedCluster()
        cluster.nodes[NODE] = 1
        first, second = (VariantStore(name, lease, cluster, self.variant) for name in ("first", "second"))
        first.work(5)
        second.work(5)
        cluster.create_pod("a")
        cluster.create_pod("b")
        results: list[BindResult] = []

        def carry(call: str) -> None:
            at = len(self.calls)
            self.calls.append(call)
            if at == self.acquired_at:
                # The first store's watcher has stopped after its last renewal.
                second.clock.advance(40)
                second.work(1)
            if at == self.finished_at:
                second.work(TAKEOVER_SECONDS)
                results.append(second.bind("b"))
                check(cluster, self.calls)

        late: list[Callable[[], object]] | None = [] if self.is_late else None
        found = first.bind("a", carry, late)
        while len(self.calls) < CALLS + self.finished_at:
            carry("after the end")
        for arrive in late or ():
            arrive()
        check(cluster, self.calls)
        return found, results[0]


def cases(variant: Variant) -> Iterator[Case]:
    """Yield a case for every pair of calls, with immediate and with late Bindings."""
    for acquired_at in range(CALLS):
        for finished_at in range(acquired_at, CALLS):
            for is_late in (False, True):
                yield Case(variant, acquired_at, finished_at, is_late)


BOUND = (BindOutcome.BOUND, BindOutcome.ALREADY_BOUND)
