"""The watcher dies before and after every call of the table and of the API server, whatever it is about to do.

Its successor, of a higher epoch, finds all of it: the ledger adds up at every step, and what no pod holds can be had
again within the expiry time of the successor.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from berth.reservations.ledger.entry import EntryState, OpenReservation
from berth.reservations.ledger.table import Marker, MarkerState
from berth.reservations.reconciler.reconciler import Reconciler
from tests.fakes.counted_cluster import SLOT
from tests.simulation.reservations import InterruptedPods, InterruptedTable
from tests.unit.reservations.reconciling import HTTP_TIMEOUT, NODE, Watching, check

EXPIRY = 30.0
UNITS = 8
REBUILD = 3 * (HTTP_TIMEOUT + 6)


class Died(BaseException):
    """The process is gone."""


class Death:
    """Comes at the n-th boundary of a call; and looks at every ledger at each one before."""

    def __init__(self, watching: Watching, at: int) -> None:
        self._watching = watching
        self._left = at
        self.came = False

    def __call__(self) -> None:
        for ledger in self._watching.table.nodes():
            check(ledger)
        if self._left == 0:
            self.came = True
            raise Died
        self._left -= 1


def confirm(watching: Watching) -> None:
    watching.reserve(watching.cluster.create_pod("a", 3), 3)
    watching.cluster.place("a", NODE)


def adopt(watching: Watching) -> None:
    watching.cluster.create_pod("a", 3)
    watching.cluster.place("a", NODE)


def release_a_bound_one(watching: Watching) -> None:
    confirm(watching)
    watching.publish()
    watching.run(watching.lead(), 3)
    watching.cluster.delete("a")


def release_one_that_is_elsewhere(watching: Watching) -> None:
    watching.node(UNITS, "node-b")
    watching.reserve(watching.cluster.create_pod("a"))
    watching.cluster.place("a", "node-b")


def release_one_that_ended_unseen(watching: Watching) -> None:
    confirm(watching)
    watching.cluster.finish("a")


def expire(watching: Watching) -> None:
    watching.reserve(watching.cluster.create_pod("a"))


def expire_of_a_pod_that_is_gone(watching: Watching) -> None:
    watching.reserve(watching.cluster.create_pod("a"))
    watching.cluster.delete("a")


def expire_what_was_only_announced(watching: Watching) -> None:
    key = watching.cluster.create_pod("a")
    watching.table.put_open(OpenReservation(key, NODE, "attempt", {SLOT: 1}, watching.clock.now))


def release_on_request(watching: Watching) -> None:
    entry = watching.reserve(watching.cluster.create_pod("a"))
    watching.table.request_release(OpenReservation(entry.pod, NODE, entry.attempt, entry.shares, entry.since))


def shrink_below_use(watching: Watching) -> None:
    confirm(watching)
    watching.publish()
    watching.run(watching.lead(), 3)
    watching.node(2)


def new_node(watching: Watching) -> None:
    watching.node(4, "node-b")


def node_gone(watching: Watching) -> None:
    release_a_bound_one(watching)
    del watching.cluster.nodes[NODE]


def rebuild(watching: Watching) -> None:
    confirm(watching)
    watching.reserve(watching.cluster.create_pod("b"))
    watching.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), watching.table.marker())


SITUATIONS = (
    confirm,
    adopt,
    release_a_bound_one,
    release_one_that_is_elsewhere,
    release_one_that_ended_unseen,
    expire,
    expire_of_a_pod_that_is_gone,
    expire_what_was_only_announced,
    release_on_request,
    shrink_below_use,
    new_node,
    node_gone,
    rebuild,
)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_successor_ends_what_a_watcher_has_begun(situation: Callable[[Watching], None]) -> None:
    boundaries = 0
    while _dies_at(boundaries, situation):
        boundaries += 1
    assert boundaries >= 4, "nothing was called"


def _dies_at(boundary: int, situation: Callable[[Watching], None]) -> bool:
    """False: there is no such boundary."""
    watching = Watching()
    watching.node(UNITS)
    watching.publish()
    watching.run(watching.lead(), 1)
    situation(watching)
    death = Death(watching, boundary)
    mortal = watching.lead(InterruptedPods(watching.cluster, death), InterruptedTable(watching.table, death))
    with suppress(Died):
        _works(watching, mortal)

    successor = watching.lead()
    _works(watching, successor)
    if NODE not in watching.cluster.nodes:
        # Its ledger may have been left behind, and nobody asks for it; it must be right when the node is back.
        watching.node(UNITS)
        _works(watching, successor)

    _check_end(watching)
    return death.came


def _works(watching: Watching, reconciler: Reconciler) -> None:
    for _ in range(int(max(EXPIRY, REBUILD) / 5) + 2):
        watching.publish(reconciler)
        watching.run(reconciler, 5)


def _check_end(watching: Watching) -> None:
    for name, units in watching.cluster.nodes.items():
        there = {pod.key.uid: pod for pod in watching.cluster.pods.values() if pod.node == name and not pod.finished}
        ledger = watching.ledger(name)
        assert {uid: dict(entry.shares) for uid, entry in ledger.entries.items()} == {
            uid: {SLOT: pod.units} for uid, pod in there.items()
        }
        assert {entry.state for entry in ledger.entries.values()} <= {EntryState.BOUND}
        assert ledger.capacity == {SLOT: units}
    assert watching.table.open_reservations() == []
    marker = watching.table.marker()
    assert marker is not None
    assert marker.state is MarkerState.READY
