"""The reconciler: which work it does, when, and with which epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.entry import EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.table import Marker, MarkerState, NotWritten, Written
from berth.upkeep.reconciler.events import ReservationEventType
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

EXPIRY = 30.0


def test_expires_the_reservation_of_a_gang_only_after_its_round(harness: ReconcilerHarness) -> None:
    is_over = False
    leader = harness.lead(expiry_check=lambda: lambda reservation: is_over)
    harness.publish(leader)
    harness.reserve(harness.cluster.create_pod("a"))

    harness.run(leader, EXPIRY + 5)
    assert harness.states() == {"a": EntryState.RESERVED}

    is_over = True
    harness.run(leader, 5)
    assert not harness.states()


def test_reads_expirable_gang_reservations_once_per_step(harness: ReconcilerHarness) -> None:
    looks = 0

    def expiry_check() -> Callable[[OpenReservation], bool]:
        nonlocal looks
        looks += 1
        return lambda reservation: False

    leader = harness.lead(expiry_check=expiry_check)
    harness.publish(leader)
    for name in ("a", "b", "c"):
        harness.reserve(harness.cluster.create_pod(name))

    harness.run(leader, EXPIRY - 1)
    assert looks == 0
    # The leader checks every 2 s, once for all three reservations.
    harness.run(leader, 7)
    assert looks == 4


def test_releases_reservation_at_once_if_the_pod_is_published_as_finished(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", NODE)
    harness.cluster.finish("a")

    harness.publish(leader, seconds=5)

    assert not harness.states()
    assert harness.table.open_reservations() == []


def test_releases_reservation_at_once_if_the_pod_is_published_on_another_node(harness: ReconcilerHarness) -> None:
    harness.node(8, "node-b")
    leader = harness.lead()
    harness.publish(leader, seconds=1)
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", "node-b")

    harness.publish(leader, seconds=5)

    assert not harness.states()
    assert harness.states("node-b") == {"a": EntryState.BOUND}


def test_releases_reservation_soon_if_the_pod_was_never_published_on_its_node(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.publish(leader)
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", NODE)
    harness.cluster.delete("a")

    harness.clock.advance(0.3)
    harness.publish(leader, seconds=3)

    assert not harness.states()
    assert harness.table.open_reservations() == []


def test_expires_entry_without_open_reservation_after_a_sweep(harness: ReconcilerHarness) -> None:
    key = harness.cluster.create_pod("a")
    entry = harness.reserve(key)
    harness.table.delete_open(key.uid, NODE, entry.attempt)

    harness.run(harness.lead(), EXPIRY + 5)

    assert not harness.states()


def test_expires_reservation_written_by_a_clock_that_is_ahead(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = harness.cluster.create_pod("a")
    entry = harness.reserve(key)
    harness.table.put_open(OpenReservation(key, NODE, entry.attempt, entry.shares, harness.clock.now + 1e6))

    harness.run(leader, EXPIRY + 5)

    assert not harness.states()


def test_steps_down_and_records_the_later_epoch_if_the_head_was_lost(harness: ReconcilerHarness) -> None:
    before = harness.lead(epoch=40)
    harness.run(before, 1)
    harness.reserve(harness.cluster.create_pod("a", 8), 8)
    harness.cluster.place("a", NODE)
    harness.publish(before, seconds=1)
    harness.cluster.delete("a")
    harness.publish()
    harness.happened()

    restarted = harness.lead(epoch=0)  # the first epoch of a recreated head item
    harness.run(restarted, 1)
    assert restarted.is_deposed
    assert harness.happened() == [ReservationEventType.OUTRANKED]
    marker = harness.table.marker()
    assert marker is not None
    assert marker.epoch == 40

    harness.run(harness.lead(epoch=marker.epoch + 1), 1)
    assert not harness.states()
    assert harness.ledger().avail == {SLOT: 8}


def test_reports_that_the_later_epoch_could_not_be_recorded(harness: ReconcilerHarness) -> None:
    class NoLaterEpoch(_Failing):
        def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
            if marker.epoch == 40:
                raise TableUnavailable("throttled")
            return super().put_marker(marker, seen)

    harness.run(harness.lead(epoch=40), 1)
    marker = harness.table.marker()
    assert marker is not None
    harness.table.put_marker(replace(marker, epoch=3, nonce="old"), marker)
    harness.happened()
    restarted = harness.lead(epoch=4, table=NoLaterEpoch(harness.table))  # type: ignore[arg-type]
    harness.run(restarted, 1)
    assert restarted.is_deposed
    assert harness.happened() == [ReservationEventType.OUTRANKED, ReservationEventType.TABLE_UNAVAILABLE]


def test_records_the_epoch_of_a_ledger_if_it_is_later_than_the_epoch_of_the_marker(harness: ReconcilerHarness) -> None:
    harness.run(harness.lead(epoch=40), 1)
    marker = harness.table.marker()
    assert marker is not None
    # As left by a release that did not register leaders: the marker is older than the nodes' items.
    harness.table.put_marker(replace(marker, epoch=3, nonce="old"), marker)

    restarted = harness.lead(epoch=4)
    harness.run(restarted, 1)

    assert restarted.is_deposed
    found = harness.table.marker()
    assert found is not None
    assert found.epoch == 40


@pytest.mark.parametrize("ready", [True, False], ids=["ready ledger", "lost ledger"])
def test_only_one_of_two_leaders_with_the_same_epoch_writes(ready: bool) -> None:
    harness = ReconcilerHarness(ready=ready)
    harness.node()
    harness.publish()
    first, second = harness.lead(epoch=5), harness.lead(epoch=5)
    harness.run(first, 30)

    harness.run(second, 30)

    assert second.is_deposed
    assert not first.is_deposed
    assert harness.happened()[-1] is ReservationEventType.OUTRANKED


def test_leader_registers_in_the_marker_once(harness: ReconcilerHarness) -> None:
    leader = harness.lead(epoch=5)
    harness.run(leader, 1)
    registered = harness.table.marker()
    harness.run(leader, 30)
    assert registered is not None
    assert registered.epoch == 5
    assert registered.state is MarkerState.READY
    assert harness.table.marker() == registered


def test_deposed_leader_cannot_change_capacity(harness: ReconcilerHarness) -> None:
    deposed = harness.lead(seconds=1)
    harness.node(2)
    harness.publish(deposed)
    harness.node(8)
    harness.publish()
    harness.run(harness.lead(), 1)

    harness.run(deposed, 1)

    assert harness.ledger().capacity == {SLOT: 8}


def test_leader_claims_each_ledger_once(harness: ReconcilerHarness) -> None:
    table = _Counting()
    table.put_marker(Marker(MarkerState.READY, 0, 0, "ready"), None)
    counted = ReconcilerHarness(table=table, ready=False)
    counted.node(8)
    counted.publish()
    counted.run(counted.lead(), 1)
    leader = counted.lead()

    counted.run(leader, 60)
    assert (table.writes, table.reads) == (1, 0)
    counted.place("a")
    counted.publish(leader, seconds=1)
    assert (table.writes, table.reads) == (2, 1)


def test_retries_and_reports_if_the_table_is_unavailable(harness: ReconcilerHarness) -> None:
    table = _Failing(harness.table)  # type: ignore[arg-type]
    leader = harness.lead(table=table)
    harness.place("a")
    table.fails = True
    harness.publish(leader, seconds=5)
    assert set(harness.happened()) == {ReservationEventType.TABLE_UNAVAILABLE}

    table.fails = False
    harness.run(leader, 5)
    assert harness.states() == {"a": EntryState.BOUND}


def test_postpones_expiry_and_reports_why_if_the_pod_is_bound_but_not_published(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", NODE)

    harness.run(leader, EXPIRY + 3)

    postponed = [event for event in harness.events if event.type is ReservationEventType.POSTPONED]
    assert {str(event) for event in postponed} == {"postponed on node-a: ml/a: on-node"}
    assert harness.states() == {"a": EntryState.RESERVED}
    assert len(harness.table.open_reservations()) == 1


class _Counting(InMemoryLedgerTable):
    """Counts the reads and the successful writes of node items."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0

    def node(self, name: str) -> NodeLedger | None:
        self.reads += 1
        return super().node(name)

    def write(self, node, change):  # type: ignore[no-untyped-def]
        written: Written | NotWritten = super().write(node, change)
        self.writes += isinstance(written, Written)
        return written


class _Failing(InMemoryLedgerTable):
    """Shares the content of another table. `fails`: whether every read and write of a node fails."""

    def __init__(self, table: InMemoryLedgerTable) -> None:
        self.__dict__ |= table.__dict__
        self.fails = False

    def node(self, name: str) -> NodeLedger | None:
        if self.fails:
            raise TableUnavailable("throttled")
        return super().node(name)

    def write(self, node, change):  # type: ignore[no-untyped-def]
        if self.fails:
            raise TableUnavailable("throttled")
        return super().write(node, change)
