"""Rebuilding ledgers: the order of the steps, and what is entered."""

from __future__ import annotations

from berth.reservations.ledger.entry import EntryState, OpenReservation
from berth.reservations.ledger.table import Marker, MarkerState
from berth.reservations.reconciler.events import ReservationEventType
from tests.fakes.counted_cluster import SLOT
from tests.unit.reservations.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness


def test_rebuilds_new_table_from_pods_after_binds_under_way_have_ended() -> None:
    harness = ReconcilerHarness(ready=False)
    harness.node(8)
    harness.cluster.create_pod("a", 3)
    harness.cluster.place("a", NODE)
    harness.cluster.create_pod("waiting")
    version = harness.cluster.pods["waiting"].version
    harness.publish()
    leader = harness.lead()

    harness.run(leader, HTTP_TIMEOUT + 4)
    harness.publish(leader)
    harness.run(leader, 0.5)
    assert harness.table.node(NODE) is None
    harness.run(leader, 3)
    assert harness.table.node(NODE) is None, "what is published was observed too early"
    harness.publish(leader)
    harness.run(leader, 3)

    assert harness.ledger().avail == {SLOT: 5}
    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.cluster.pods["waiting"].version > version, "a Binding of before would succeed"
    marker = harness.table.marker()
    assert marker is not None
    assert marker.state is MarkerState.READY


def test_removes_avail_while_rebuilding(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    seen = harness.table.marker()
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), seen)

    harness.run(leader, 3)

    found = harness.table.node(NODE)
    assert found is not None
    assert found.avail is None


def test_enters_pod_that_is_bound_during_rebuild(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    harness.reserve(harness.cluster.create_pod("a", 3), 3)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(leader, HTTP_TIMEOUT + 4)
    harness.cluster.place("a", NODE)

    harness.run(leader, 3)
    harness.publish(leader)
    harness.run(leader, 3)
    harness.publish(leader)
    harness.run(leader, 3)

    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.table.open_reservations() == []


def test_begins_again_when_previous_leader_did_not_finish(harness: ReconcilerHarness) -> None:
    first = harness.lead()
    harness.run(first, 1)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(first, HTTP_TIMEOUT)
    successor = harness.lead()

    for _ in range(4):
        harness.run(successor, HTTP_TIMEOUT)
        harness.publish(successor)
    harness.run(successor, 3)

    assert harness.ledger().avail == {SLOT: 8}
    marker = harness.table.marker()
    assert marker is not None
    assert (marker.state, marker.epoch) == (MarkerState.READY, harness.ledger().epoch)


def test_creates_no_ledger_for_new_node_when_marker_is_lost(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    harness.table._nodes.clear()  # type: ignore[attr-defined]
    harness.table._marker = None  # type: ignore[attr-defined]
    harness.node(9)

    harness.publish(leader)
    harness.run(leader)

    assert harness.table.node(NODE) is None


def test_leaves_reservations_alone_while_their_node_is_rebuilt(harness: ReconcilerHarness) -> None:
    """The release of an operator's request waits: the rebuild invalidates the pod's Bindings itself."""
    leader = harness.lead()
    harness.run(leader, 1)
    entry = harness.reserve(harness.cluster.create_pod("a"))
    version = harness.cluster.pods["a"].version
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(leader, 3)
    harness.table.request_release(OpenReservation(entry.pod, NODE, entry.attempt, entry.shares, entry.since))

    harness.run(leader, 4)

    assert harness.cluster.pods["a"].version == version
    assert len(harness.table.open_reservations()) == 1
    assert harness.happened() == [ReservationEventType.REBUILDING]


def test_rebuilds_ledger_of_node_that_appears_during_rebuild(harness: ReconcilerHarness) -> None:
    """While the table is not ready, no ledger is created: a new node's name may be an old node's."""
    leader = harness.lead()
    harness.run(leader, 1)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(leader, 3)
    harness.node(4, "node-b")

    for _ in range(5):
        harness.publish(leader)
        harness.run(leader, HTTP_TIMEOUT)

    assert [(event.type, event.node) for event in harness.events if event.node == "node-b"] == [
        (ReservationEventType.REBUILT, "node-b")
    ]
    assert harness.ledger("node-b").avail == {SLOT: 4}
