"""The watcher dies before and after every call of the table and of the API server, in each kind of work.

Its successor, with a higher epoch, completes the work: the ledger adds up at every step, and unused amounts are free
again within the successor's expiry time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from berth.ledger.nodes.entry import EntryState, OpenReservation
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState
from berth.pods import ReservedPods
from berth.scheduling.managed_resources.counting import Counting
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.fakes.counted_cluster import COUNTING, LIMITED_SLOTS, NAMESPACE, SLOT, SLOTS_AND_FLOATING_SEATS
from tests.fakes.intercepted import interrupted
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness, check

from .broken import functions_of

pytestmark = pytest.mark.long

EXPIRY = 30.0
UNITS = 8
REBUILD = 3 * (HTTP_TIMEOUT + 6)


class Died(BaseException):
    """Ends the watcher's process."""


class Death:
    """Ends the watcher at the n-th boundary of a call, and checks every ledger at each boundary."""

    def __init__(self, harness: ReconcilerHarness, at: int) -> None:
        self._watching = harness
        self._left = at
        self.came = False

    def __call__(self) -> None:
        for ledger in self._watching.table.nodes():
            check(ledger)
        if self._left == 0:
            self.came = True
            raise Died
        self._left -= 1


def confirm(harness: ReconcilerHarness) -> None:
    harness.reserve(harness.cluster.create_pod("a", 3), 3)
    harness.cluster.place("a", NODE)


def adopt(harness: ReconcilerHarness) -> None:
    harness.cluster.create_pod("a", 3)
    harness.cluster.place("a", NODE)


def release_a_bound_one(harness: ReconcilerHarness) -> None:
    confirm(harness)
    harness.publish()
    harness.run(harness.lead(), 3)
    harness.cluster.delete("a")


def release_one_that_is_elsewhere(harness: ReconcilerHarness) -> None:
    harness.node(UNITS, "node-b")
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", "node-b")


def release_one_that_ended_unseen(harness: ReconcilerHarness) -> None:
    confirm(harness)
    harness.cluster.finish("a")


def expire(harness: ReconcilerHarness) -> None:
    harness.reserve(harness.cluster.create_pod("a"))


def expire_of_a_pod_that_is_gone(harness: ReconcilerHarness) -> None:
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.delete("a")


def expire_what_was_only_announced(harness: ReconcilerHarness) -> None:
    key = harness.cluster.create_pod("a")
    harness.table.put_open(OpenReservation(key, NODE, "attempt", {SLOT: 1}, harness.clock.now))


def shrink_below_use(harness: ReconcilerHarness) -> None:
    confirm(harness)
    harness.publish()
    harness.run(harness.lead(), 3)
    harness.node(2)


def new_node(harness: ReconcilerHarness) -> None:
    harness.node(4, "node-b")


def node_gone(harness: ReconcilerHarness) -> None:
    release_a_bound_one(harness)
    del harness.cluster.nodes[NODE]


def rebuild(harness: ReconcilerHarness) -> None:
    confirm(harness)
    harness.reserve(harness.cluster.create_pod("b"))
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())


SITUATIONS = functions_of(globals(), "harness").values()


@pytest.mark.parametrize(
    "counting",
    [
        pytest.param(COUNTING, id="on nodes"),
        pytest.param(SLOTS_AND_FLOATING_SEATS, id="on nodes and in the cluster"),
        pytest.param(LIMITED_SLOTS, id="on nodes and in a namespace"),
    ],
)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_next_watcher_ends_interrupted_work(situation: Callable[[ReconcilerHarness], None], counting: Counting) -> None:
    boundaries = 0
    while _dies_at(boundaries, situation, counting):
        boundaries += 1
    assert boundaries >= 4, "nothing was called"


def _dies_at(boundary: int, situation: Callable[[ReconcilerHarness], None], counting: Counting) -> bool:
    """Kill the watcher at this boundary; return False if there is no such boundary."""
    harness = ReconcilerHarness(counting=counting)
    harness.node(UNITS)
    if counting is LIMITED_SLOTS:
        # The pool of a namespace exists only after its first pod was created.
        harness.cluster.create_pod("waiting")
    harness.publish()
    harness.run(harness.lead(), 1)
    situation(harness)
    death = _hand_over(harness, boundary)
    if NODE not in harness.cluster.nodes:
        # The ledger may be outdated while the node is gone: no bind uses it. It must be correct when the node is back.
        harness.node(UNITS)
        _works(harness, harness.lead())

    _check_end(harness, counting)
    return death.came


def _hand_over(harness: ReconcilerHarness, boundary: int) -> Death:
    """Run a watcher that dies at this boundary, then its successor, which completes the work."""
    death = Death(harness, boundary)
    mortal = harness.lead(
        interrupted(ReservedPods, lambda: harness.cluster, death),
        interrupted(LedgerTable, lambda: harness.table, death),
    )
    with suppress(Died):
        _works(harness, mortal)
    _works(harness, harness.lead())
    return death


def _works(harness: ReconcilerHarness, reconciler: Reconciler) -> None:
    for _ in range(int(max(EXPIRY, REBUILD) / 5) + 2):
        harness.publish(reconciler)
        harness.run(reconciler, 5)


def _check_end(harness: ReconcilerHarness, counting: Counting) -> None:
    for name, units in harness.cluster.nodes.items():
        there = {pod.key.uid: pod for pod in harness.cluster.pods.values() if pod.node == name and not pod.finished}
        ledger = harness.ledger(name)
        assert {uid: dict(entry.shares) for uid, entry in ledger.entries.items()} == {
            uid: {SLOT: pod.units} for uid, pod in there.items()
        }
        assert {entry.state for entry in ledger.entries.values()} <= {EntryState.BOUND}
        assert ledger.capacity == {SLOT: units}
    pods = [pod for pod in harness.cluster.pods.values() if not pod.finished]
    pools = counting.floating.of_cluster | (
        counting.floating.of(counting.resources, NAMESPACE, {}) if pods else frozenset()
    )
    assert {ledger.owner for ledger in harness.table.nodes()} == pools | harness.cluster.nodes.keys()
    for pool in pools:
        held = {uid: dict(entry.shares) for uid, entry in harness.ledger(pool).entries.items()}
        assert held == {pod.key.uid: {pool: pod.units} for pod in pods if pod.node}
        assert {entry.state for entry in harness.ledger(pool).entries.values()} <= {EntryState.BOUND}
    assert harness.table.open_reservations() == []
    marker = harness.table.marker()
    assert marker is not None
    assert marker.state is MarkerState.READY
