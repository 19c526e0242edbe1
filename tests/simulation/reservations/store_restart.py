"""A store in memory that ends at any call of a bind, and the store that replaces it: real bind, holder and
reconciler.

The first store's process is killed: it makes no more calls, does not release its Lease, and its last Binding may still
be on the wire. The second store begins with an empty ledger, after the first store or beside it. Its watch may have
stopped before the pod was created. The node's capacity must never be exceeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from berth.extender.outcomes import BindResult
from berth.ledger.lease import ELECTION
from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import PodTouched
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from tests.fakes.counted_cluster import CountedCluster
from tests.fakes.ledger_lease import LeaseInMemory
from tests.simulation.reservations.one_seat import CALLS, NODE, Store, check

REBUILD_SECONDS = 6
"""The most seconds from acquiring the Lease until the store counts: two polls of the reconciler, and a check."""

WATCH_SECONDS = 5
"""Time in seconds after the acquisition when a stopped watch continues, if a pod was bound."""

LONGEST_WAIT = ELECTION.lease_duration + ELECTION.longest_retry + REBUILD_SECONDS + WATCH_SECONDS


class Variant(StrEnum):
    """The correct protocol, and variants that count too early because a rule of the rebuild is left out."""

    CORRECT = "correct"
    BEFORE_THE_LEASE = "the rebuild begins with the process, and not after the Lease was acquired"
    PUBLISHED_PODS = "the rebuild invalidates the Bindings of published pods only"
    TOUCHES_NOTHING = "the rebuild does not invalidate Bindings"
    UNPUBLISHED = "a pod that is on a node by the API server's word need not be published there"


class Arrival(StrEnum):
    """When the Binding that is on the wire at the end of the process arrives at the API server."""

    NEVER = "never"
    AT_ONCE = "at once"
    BEFORE_THE_REBUILD = "before the rebuild"
    AFTER_THE_REBUILD = "after the rebuild"
    LAST = "after the next bind"


class _Killed(BaseException):
    """Ends the process."""


class _Cluster(CountedCluster):
    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self._variant = variant

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | object:  # type: ignore[override]
        return PodTouched() if self._variant is Variant.TOUCHES_NOTHING else super().touch(pod, resource_version)

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...]:
        if self._variant is not Variant.PUBLISHED_PODS:
            return super().list_pods(is_wanted)  # type: ignore[return-value]
        _, pods = self.published()
        return tuple(self.pods[pod.name].key for pod in pods.values() if pod is not None and is_wanted(pod))


class LostStore(Store):
    """A store whose ledger ends with its process."""

    def __init__(self, name: str, lease: LeaseInMemory, cluster: CountedCluster, variant: Variant) -> None:
        is_early = variant is Variant.BEFORE_THE_LEASE
        super().__init__(name, lease, cluster, is_rebuilt=not is_early, random=0.999, is_lost_with_process=True)
        if is_early:
            self.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0.0, "at the start"), None)
        if variant is Variant.UNPUBLISHED:
            self._reconciler._rebuild._are_published = lambda rebuild: True  # type: ignore[method-assign]
        self._reconciler.update(*cluster.published(), self.clock.wall())

    def work(self, seconds: float, *, publishes: bool) -> None:
        """Let the watcher work twice a second."""
        for _ in range(int(seconds * 2)):
            self.step(publishes=publishes)
            self.clock.advance(0.5)

    @property
    def holds_lease(self) -> bool:
        return getattr(self._lease.holding(1.0), "holder", "") == self._name

    @property
    def counts(self) -> bool:
        """Return whether the store's binds can reserve on the node."""
        ledger = self.table.node(NODE)
        is_counting = getattr(self._lease.holding(1.0), "is_counting", False)
        return self.holds_lease and is_counting and ledger is not None and ledger.avail is not None


@dataclass
class Case:
    """killed_at: the call of its bind before which the first store ends. is_beside: the second store runs already, and
    its watch stopped before the pod was created."""

    variant: Variant
    killed_at: int
    arrival: Arrival
    is_beside: bool
    calls: list[str] = field(default_factory=list)

    def run(self) -> BindResult:
        """Return the result of the second store's bind. Raises AssertionError if the node is overcommitted or if the
        second store counts too late."""
        lease, cluster = LeaseInMemory(), _Cluster(self.variant)
        cluster.nodes[NODE] = 1
        cluster.publish()
        first = LostStore("first", lease, cluster, self.variant)
        first.work(10, publishes=True)
        second = LostStore("second", lease, cluster, self.variant) if self.is_beside else None
        if second is not None:
            second.work(20, publishes=True)
            first.work(1, publishes=True)
        cluster.create_pod("a")
        on_the_wire: list[Callable[[], object]] = []
        self._bind_until_killed(first, on_the_wire if self.arrival is not Arrival.AT_ONCE else None)
        second = second or LostStore("second", lease, cluster, self.variant)
        cluster.create_pod("b")
        self._take_over(second, cluster, on_the_wire)
        found = second.bind("b")
        if self.arrival is Arrival.LAST:
            _arrive(on_the_wire)
        check(cluster, self.calls)
        return found

    def _bind_until_killed(self, store: LostStore, late: list[Callable[[], object]] | None) -> None:
        def call(what: str) -> None:
            if len(self.calls) == self.killed_at:
                raise _Killed
            self.calls.append(what)

        with suppress(_Killed):
            store.bind("a", call, late)

    def _take_over(self, second: LostStore, cluster: CountedCluster, on_the_wire: list[Callable[[], object]]) -> None:
        began, seconds_held = second.clock.wall(), 0.0
        while not second.counts:
            assert second.clock.wall() - began <= LONGEST_WAIT, "it does not count"
            if second.holds_lease and self.arrival is Arrival.BEFORE_THE_REBUILD:
                _arrive(on_the_wire)
            goes_on = cluster.used(NODE) > 0 and seconds_held >= WATCH_SECONDS
            second.work(0.5, publishes=not self.is_beside or goes_on)
            seconds_held += 0.5 * second.holds_lease
        if self.arrival is Arrival.AFTER_THE_REBUILD:
            _arrive(on_the_wire)


def _arrive(on_the_wire: list[Callable[[], object]]) -> None:
    while on_the_wire:
        on_the_wire.pop()()


def cases(variant: Variant) -> Iterator[Case]:
    """Yield a case for every call of a bind and every moment at which its Binding may arrive."""
    for killed_at in range(CALLS):
        for arrival in Arrival:
            for is_beside in (False, True):
                yield Case(variant, killed_at, arrival, is_beside)
