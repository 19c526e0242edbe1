"""Reconciling one node: its ledger follows the published node and the published pods."""

from __future__ import annotations

import pytest

from berth.ledger.nodes.entry import EntryState
from berth.upkeep.reconciler.events import ReservationEventType
from tests.fakes.counted_cluster import SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

EXPIRY = 30.0


def test_creates_ledger_with_published_pods_if_the_node_has_capacity() -> None:
    harness = ReconcilerHarness()
    harness.node(8)
    harness.place("a", 3)
    harness.publish()

    harness.run(harness.lead(), 1)

    assert harness.ledger().avail == {SLOT: 5}
    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.happened() == [ReservationEventType.CREATED]


def test_creates_a_ledger_only_for_nodes_with_a_counted_resource() -> None:
    harness = ReconcilerHarness()
    harness.node(0)
    harness.publish()
    harness.run(harness.lead(), 1)
    assert harness.table.nodes() == []


def test_confirms_reservation_when_the_pod_is_published_on_the_node(harness: ReconcilerHarness) -> None:
    leader = harness.lead(seconds=1)
    harness.reserve(harness.cluster.create_pod("a", 3), 3)
    harness.cluster.place("a", NODE)

    harness.publish(leader, seconds=0)

    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.ledger().avail == {SLOT: 5}
    assert harness.table.open_reservations() == []
    assert harness.happened() == [ReservationEventType.CONFIRMED]


def test_adopts_a_pod_of_another_scheduler_and_owes_the_amount_above_capacity(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    for name, units in (("a", 6), ("b", 5)):
        harness.place(name, units)

    harness.publish(leader, seconds=1)

    assert harness.ledger().owed == {SLOT: 3}
    assert not harness.ledger().avail
    assert harness.happened() == [ReservationEventType.ADOPTED, ReservationEventType.ADOPTED, ReservationEventType.OWED]


@pytest.mark.parametrize("end", ["finish", "delete"])
def test_releases_bound_entry_when_the_end_of_the_pod_is_published(harness: ReconcilerHarness, end: str) -> None:
    leader = harness.lead()
    harness.place("a", 3)
    harness.publish(leader, seconds=1)
    getattr(harness.cluster, end)("a")

    harness.run(leader, EXPIRY)
    assert harness.states() == {"a": EntryState.BOUND}
    harness.publish(leader, seconds=0)

    assert harness.ledger().avail == {SLOT: 8}
    assert not harness.states()
    assert harness.capacity_releases


@pytest.mark.parametrize(
    ("units", "avail", "owed"),
    [
        pytest.param(10, {SLOT: 5}, {}, id="added capacity becomes available"),
        pytest.param(6, {SLOT: 1}, {}, id="removed capacity reduces the available amount"),
        pytest.param(3, {}, {SLOT: 2}, id="capacity below the held amount is owed"),
        pytest.param(0, {}, {SLOT: 5}, id="the held amount of a removed pool is owed"),
    ],
)
def test_updates_capacity_when_the_node_changes(
    harness: ReconcilerHarness, units: int, avail: dict[str, int], owed: dict[str, int]
) -> None:
    leader = harness.lead()
    harness.place("a", 5)
    harness.publish(leader, seconds=1)
    harness.events.clear()
    harness.node(units)

    harness.publish(leader, seconds=0)

    assert (harness.ledger().avail, harness.ledger().owed) == (avail, owed)
    assert (ReservationEventType.OWED in harness.happened()) is bool(owed)


def test_deletes_ledger_of_deleted_node_with_its_last_entry(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.place("a")
    harness.publish(leader, seconds=1)
    del harness.cluster.nodes[NODE]

    harness.publish(leader, seconds=0)
    assert harness.ledger().owed == {SLOT: 1}

    harness.cluster.delete("a")
    harness.publish(leader, seconds=0)
    assert harness.table.node(NODE) is None
