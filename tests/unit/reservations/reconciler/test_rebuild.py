"""Rebuilding ledgers: the order of the steps, and what is entered."""

from __future__ import annotations

from berth.reservations.ledger.entry import EntryState
from berth.reservations.ledger.table import Marker, MarkerState
from tests.fakes.counted_cluster import NAMESPACE, SLOT
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
    assert NAMESPACE
