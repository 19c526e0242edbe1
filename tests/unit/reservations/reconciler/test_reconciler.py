"""The watcher's part in the ledger, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.reservations.ledger.entry import EntryState, NodeLedger, OpenReservation, PodKey
from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.table import Marker, MarkerState, NotWritten, TableUnavailable, Written
from berth.reservations.reconciler.events import ReservationEventType
from berth.reservations.reconciler.reserved_pods import (
    PodChanged,
    PodFound,
    PodNotFound,
    PodTouched,
    PodUnknown,
    ReservedPods,
)
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import NAMESPACE, SLOT
from tests.unit.reservations.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

EXPIRY = 30.0


@pytest.fixture
def harness() -> ReconcilerHarness:
    """A node with 8 slots and its ledger."""
    harness = ReconcilerHarness()
    harness.node(8)
    harness.publish()
    harness.run(harness.lead(), 1)
    harness.happened()
    return harness


def test_a_node_with_capacity_gets_a_ledger_with_the_pods_that_are_there() -> None:
    harness = ReconcilerHarness()
    harness.node(8)
    harness.cluster.create_pod("a", 3)
    harness.cluster.place("a", NODE)
    harness.publish()

    harness.run(harness.lead(), 1)

    assert harness.ledger().avail == {SLOT: 5}
    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.happened() == [ReservationEventType.CREATED]


def test_a_node_with_nothing_counted_has_no_ledger() -> None:
    harness = ReconcilerHarness()
    harness.node(0)
    harness.publish()
    harness.run(harness.lead(), 1)
    assert harness.table.nodes() == []


def test_a_reserved_pod_that_is_published_on_the_node_is_confirmed_and_its_open_reservation_closed(
    harness: ReconcilerHarness,
) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    harness.reserve(harness.cluster.create_pod("a", 3), 3)
    harness.cluster.place("a", NODE)

    harness.publish(leader)
    harness.run(leader)

    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.ledger().avail == {SLOT: 5}
    assert harness.table.open_reservations() == []
    assert harness.happened() == [ReservationEventType.CONFIRMED]


def test_nothing_is_confirmed_on_the_word_of_the_api_server_alone(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", NODE)

    harness.run(leader, EXPIRY + 5)

    assert harness.states() == {"a": EntryState.RESERVED}
    assert len(harness.table.open_reservations()) == 1


def test_a_pod_that_somebody_else_brought_is_adopted_and_what_is_not_there_is_owed(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    for name, units in (("a", 6), ("b", 5)):
        harness.cluster.create_pod(name, units)
        harness.cluster.place(name, NODE)

    harness.publish(leader)
    harness.run(leader, 1)

    assert harness.ledger().owed == {SLOT: 3}
    assert not harness.ledger().avail
    assert harness.happened() == [ReservationEventType.ADOPTED, ReservationEventType.ADOPTED, ReservationEventType.OWED]


@pytest.mark.parametrize("end", ["finish", "delete"])
def test_what_a_pod_held_is_free_when_its_end_is_published(harness: ReconcilerHarness, end: str) -> None:
    leader = harness.lead()
    harness.cluster.create_pod("a", 3)
    harness.cluster.place("a", NODE)
    harness.publish(leader)
    harness.run(leader, 1)
    getattr(harness.cluster, end)("a")

    harness.run(leader, EXPIRY)
    assert harness.states() == {"a": EntryState.BOUND}
    harness.publish(leader)
    harness.run(leader)

    assert harness.ledger().avail == {SLOT: 8}
    assert not harness.states()
    assert harness.capacity_releases


def test_a_pod_that_ended_before_it_was_published_on_its_node_is_released_at_once(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", NODE)
    harness.cluster.finish("a")

    harness.publish(leader)
    harness.run(leader, 5)

    assert not harness.states()
    assert harness.table.open_reservations() == []


def test_a_reservation_for_a_pod_that_is_published_elsewhere_is_released_at_once(harness: ReconcilerHarness) -> None:
    harness.node(8, "node-b")
    leader = harness.lead()
    harness.publish(leader)
    harness.run(leader, 1)
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.place("a", "node-b")

    harness.publish(leader)
    harness.run(leader, 5)

    assert not harness.states()
    assert harness.states("node-b") == {"a": EntryState.BOUND}


@pytest.mark.parametrize(
    ("units", "avail", "owed"),
    [
        pytest.param(10, {SLOT: 5}, {}, id="what grows is free"),
        pytest.param(6, {SLOT: 1}, {}, id="what shrinks is taken from what is free"),
        pytest.param(3, {}, {SLOT: 2}, id="below what is held it is owed"),
        pytest.param(0, {}, {SLOT: 5}, id="a pool that is gone is owed"),
    ],
)
def test_a_node_s_capacity_is_followed(
    harness: ReconcilerHarness, units: int, avail: dict[str, int], owed: dict[str, int]
) -> None:
    leader = harness.lead()
    harness.cluster.create_pod("a", 5)
    harness.cluster.place("a", NODE)
    harness.publish(leader)
    harness.run(leader, 1)
    harness.events.clear()
    harness.node(units)

    harness.publish(leader)
    harness.run(leader)

    assert (harness.ledger().avail, harness.ledger().owed) == (avail, owed)
    assert (ReservationEventType.OWED in harness.happened()) is bool(owed)


def test_what_grows_or_is_released_pays_what_is_owed_first(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    for name in ("a", "b"):
        harness.cluster.create_pod(name, 4)
        harness.cluster.place(name, NODE)
    harness.publish(leader)
    harness.run(leader, 1)
    harness.node(2)
    harness.publish(leader)
    harness.run(leader)
    assert harness.ledger().owed == {SLOT: 6}

    harness.cluster.delete("a")
    harness.publish(leader)
    harness.run(leader)
    assert harness.ledger().owed == {SLOT: 2}

    harness.node(5)
    harness.publish(leader)
    harness.run(leader)
    assert (harness.ledger().avail, harness.ledger().owed) == ({SLOT: 1}, {})


def test_the_ledger_of_a_node_that_is_gone_goes_with_its_last_entry(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.cluster.create_pod("a")
    harness.cluster.place("a", NODE)
    harness.publish(leader)
    harness.run(leader, 1)
    del harness.cluster.nodes[NODE]

    harness.publish(leader)
    harness.run(leader)
    assert harness.ledger().owed == {SLOT: 1}

    harness.cluster.delete("a")
    harness.publish(leader)
    harness.run(leader)
    assert harness.table.node(NODE) is None


# ------------------------------------------------------------------------------------------------------------- expiry


def test_a_reservation_whose_bind_never_completed_is_given_back_after_its_time_and_wakes_the_queue(
    harness: ReconcilerHarness,
) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    key = harness.cluster.create_pod("a", 3)
    harness.reserve(key, 3)
    version = harness.cluster.pods["a"].version
    releases = harness.capacity_releases

    harness.run(leader, EXPIRY - 3)
    assert harness.states() == {"a": EntryState.RESERVED}
    harness.run(leader, 6)

    assert not harness.states()
    assert harness.ledger().avail == {SLOT: 8}
    assert harness.table.open_reservations() == []
    assert harness.cluster.pods["a"].version > version, "a late Binding would succeed"
    assert harness.capacity_releases == releases + 1
    assert ReservationEventType.EXPIRED in harness.happened()


@pytest.mark.parametrize("end", ["finish", "delete"])
def test_of_a_pod_that_ended_unseen_the_reservation_expires(harness: ReconcilerHarness, end: str) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    getattr(harness.cluster, end)("a")
    harness.run(leader, EXPIRY + 5)
    assert not harness.states()


def test_a_pod_of_the_same_name_is_another_one_and_is_not_touched(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.delete("a")
    harness.cluster.create_pod("a")
    version = harness.cluster.pods["a"].version

    harness.run(leader, EXPIRY + 5)

    assert not harness.states()
    assert harness.cluster.pods["a"].version == version


def test_a_reservation_is_kept_while_the_api_server_does_not_answer(harness: ReconcilerHarness) -> None:
    leader = harness.lead(pods=_Silent())
    harness.reserve(harness.cluster.create_pod("a"))

    harness.run(leader, 2 * EXPIRY)

    assert harness.states() == {"a": EntryState.RESERVED}
    assert ReservationEventType.CLUSTER_UNAVAILABLE in harness.happened()


def test_a_pod_that_changes_between_the_look_and_the_touch_is_looked_at_again(harness: ReconcilerHarness) -> None:
    class BoundMeanwhile(_Forwarding):
        def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
            if not harness.cluster.pods["a"].node:
                harness.cluster.place("a", NODE)
            return super().touch(pod, resource_version)

    leader = harness.lead(pods=BoundMeanwhile(harness.cluster))
    harness.reserve(harness.cluster.create_pod("a"))

    harness.run(leader, EXPIRY + 5)

    assert harness.states() == {"a": EntryState.RESERVED}


def test_another_attempt_that_took_the_entry_over_meanwhile_keeps_it(harness: ReconcilerHarness) -> None:
    later: list[str] = []

    class TakenOver(_Forwarding):
        def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
            touched = super().touch(pod, resource_version)
            if not later:
                later.append("attempt-later")
                found = harness.ledger().entries[pod.uid]
                taken = replace(found, attempt="attempt-later", since=harness.clock.now)
                harness.table.put_open(OpenReservation(pod, NODE, "attempt-later", found.shares, harness.clock.now))
                assert Ledger(harness.table).take_over(NODE, found, taken).done
            return touched

    leader = harness.lead(pods=TakenOver(harness.cluster))
    key = harness.cluster.create_pod("a")
    harness.reserve(key)

    harness.run(leader, EXPIRY + 5)

    assert harness.ledger().entries[key.uid].attempt == "attempt-later"
    assert [each.attempt for each in harness.table.open_reservations()] == ["attempt-later"]


def test_an_open_reservation_without_an_entry_is_deleted_and_nobody_is_touched(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = harness.cluster.create_pod("a")
    harness.table.put_open(OpenReservation(key, NODE, "attempt", {SLOT: 1}, harness.clock.now))
    version = harness.cluster.pods["a"].version

    harness.run(leader, EXPIRY + 5)

    assert harness.table.open_reservations() == []
    assert harness.cluster.pods["a"].version == version


def test_an_entry_without_an_open_reservation_is_met_by_the_sweep_and_expires(harness: ReconcilerHarness) -> None:
    key = harness.cluster.create_pod("a")
    entry = harness.reserve(key)
    harness.table.delete_open(key.uid, NODE, entry.attempt)

    harness.run(harness.lead(), EXPIRY + 5)

    assert not harness.states()


def test_a_reservation_of_a_clock_that_is_ahead_expires_all_the_same(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = harness.cluster.create_pod("a")
    entry = harness.reserve(key)
    harness.table.put_open(OpenReservation(key, NODE, entry.attempt, entry.shares, harness.clock.now + 1e6))

    harness.run(leader, EXPIRY + 5)

    assert not harness.states()


def test_an_operator_s_request_is_followed_at_once(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = harness.cluster.create_pod("a")
    entry = harness.reserve(key)
    harness.table.request_release(OpenReservation(key, NODE, entry.attempt, entry.shares, entry.since))

    harness.run(leader, 3)

    assert not harness.states()
    assert harness.table.open_reservations() == []


def test_an_operator_s_request_does_not_take_anything_from_a_pod_that_runs(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = harness.cluster.create_pod("a")
    harness.cluster.place("a", NODE)
    harness.publish(leader)
    harness.run(leader, 1)
    harness.table.request_release(OpenReservation(key, NODE, "", {SLOT: 1}, harness.clock.now))

    harness.run(leader, 3)

    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.table.open_reservations() == []


# ------------------------------------------------------------------------------------------------------ later watchers


def test_a_deposed_watcher_writes_nothing_where_its_successor_has_been(harness: ReconcilerHarness) -> None:
    deposed = harness.lead()
    harness.run(deposed, 1)
    harness.cluster.create_pod("a")
    harness.cluster.place("a", NODE)
    harness.publish(deposed)  # on its list of things to do; and now it stands still
    harness.cluster.delete("a")
    harness.publish()
    successor = harness.lead()
    harness.run(successor, 1)

    harness.run(deposed, 1)

    assert not harness.states()
    assert deposed.is_deposed
    assert harness.happened()[-1] is ReservationEventType.OUTRANKED


def test_a_deposed_watcher_s_old_capacity_is_refused(harness: ReconcilerHarness) -> None:
    deposed = harness.lead()
    harness.run(deposed, 1)
    harness.node(2)
    harness.publish(deposed)
    harness.node(8)
    harness.publish()
    harness.run(harness.lead(), 1)

    harness.run(deposed, 1)

    assert harness.ledger().capacity == {SLOT: 8}


def test_every_ledger_is_claimed_once_by_every_leader_and_then_only_read(harness: ReconcilerHarness) -> None:
    table = _Counting()
    table.put_marker(Marker(MarkerState.READY, 0, 0, "ready"), None)
    counted = ReconcilerHarness(table=table, ready=False)
    counted.node(8)
    counted.publish()
    counted.run(counted.lead(), 1)
    leader = counted.lead()

    counted.run(leader, 60)
    assert (table.writes, table.reads) == (1, 0)
    counted.cluster.create_pod("a")
    counted.cluster.place("a", NODE)
    counted.publish(leader)
    counted.run(leader, 1)
    assert (table.writes, table.reads) == (2, 1)


def test_troubles_of_the_table_are_told_and_outlasted(harness: ReconcilerHarness) -> None:
    table = _Failing(harness.table)  # type: ignore[arg-type]
    leader = harness.lead(table=table)
    harness.cluster.create_pod("a")
    harness.cluster.place("a", NODE)
    table.fails = True
    harness.publish(leader)
    harness.run(leader, 5)
    assert set(harness.happened()) == {ReservationEventType.TABLE_UNAVAILABLE}

    table.fails = False
    harness.run(leader, 5)
    assert harness.states() == {"a": EntryState.BOUND}


# ------------------------------------------------------------------------------------------------------------ rebuild


def test_a_new_table_is_made_from_the_pods_after_what_may_be_under_way_has_ended() -> None:
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


def test_while_it_is_rebuilt_nothing_can_be_reserved(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    seen = harness.table.marker()
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), seen)

    harness.run(leader, 3)

    found = harness.table.node(NODE)
    assert found is not None
    assert found.avail is None


def test_a_bind_that_comes_to_its_end_during_the_rebuild_is_in_the_new_ledger(harness: ReconcilerHarness) -> None:
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


def test_a_successor_begins_a_rebuild_that_was_cut_off_anew(harness: ReconcilerHarness) -> None:
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


def test_a_table_that_is_lost_is_not_filled_as_if_it_were_a_new_node(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.run(leader, 1)
    harness.table._nodes.clear()  # type: ignore[attr-defined]
    harness.table._marker = None  # type: ignore[attr-defined]
    harness.node(9)

    harness.publish(leader)
    harness.run(leader)

    assert harness.table.node(NODE) is None
    assert NAMESPACE


# ---------------------------------------------------------------------------------------------------------------------


class _Forwarding(ReservedPods):
    def __init__(self, pods: ReservedPods) -> None:
        self._pods = pods

    def find(self, pod: PodKey) -> PodFound | PodNotFound | PodUnknown:
        return self._pods.find(pod)

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
        return self._pods.touch(pod, resource_version)


class _Silent(ReservedPods):
    def find(self, pod: PodKey) -> PodFound | PodNotFound | PodUnknown:
        return PodUnknown("no route to host")

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
        raise AssertionError("a pod that was not found unbound was touched")


class _Counting(InMemoryLedgerTable):
    """Counts what is done to node items by who leads last."""

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
    """Another table's content; `fails`: every read of a node does."""

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
