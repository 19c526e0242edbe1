"""The watcher's part in the ledger, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.reservations.ledger.entry import EntryState, NodeLedger, OpenReservation, PodKey
from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.table import Marker, MarkerState, NotWritten, TableUnavailable, Written
from berth.reservations.reconciler.events import ReservationEvent
from berth.reservations.reconciler.reserved_pods import Changed, Found, NotFound, ReservedPods, Touched, Unknown
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import NAMESPACE, SLOT
from tests.unit.reservations.reconciling import HTTP_TIMEOUT, NODE, Watching

EXPIRY = 30.0


@pytest.fixture
def watching() -> Watching:
    """A node with 8 slots and its ledger."""
    watching = Watching()
    watching.node(8)
    watching.publish()
    watching.run(watching.lead(), 1)
    watching.happened()
    return watching


def test_a_node_with_capacity_gets_a_ledger_with_the_pods_that_are_there() -> None:
    watching = Watching()
    watching.node(8)
    watching.cluster.create_pod("a", 3)
    watching.cluster.place("a", NODE)
    watching.publish()

    watching.run(watching.lead(), 1)

    assert watching.ledger().avail == {SLOT: 5}
    assert watching.states() == {"a": EntryState.BOUND}
    assert watching.happened() == [ReservationEvent.CREATED]


def test_a_node_with_nothing_counted_has_no_ledger() -> None:
    watching = Watching()
    watching.node(0)
    watching.publish()
    watching.run(watching.lead(), 1)
    assert watching.table.nodes() == []


def test_a_reserved_pod_that_is_published_on_the_node_is_confirmed_and_its_open_reservation_closed(
    watching: Watching,
) -> None:
    leader = watching.lead()
    watching.run(leader, 1)
    watching.reserve(watching.cluster.create_pod("a", 3), 3)
    watching.cluster.place("a", NODE)

    watching.publish(leader)
    watching.run(leader)

    assert watching.states() == {"a": EntryState.BOUND}
    assert watching.ledger().avail == {SLOT: 5}
    assert watching.table.open_reservations() == []
    assert watching.happened() == [ReservationEvent.CONFIRMED]


def test_nothing_is_confirmed_on_the_word_of_the_api_server_alone(watching: Watching) -> None:
    leader = watching.lead()
    watching.reserve(watching.cluster.create_pod("a"))
    watching.cluster.place("a", NODE)

    watching.run(leader, EXPIRY + 5)

    assert watching.states() == {"a": EntryState.RESERVED}
    assert len(watching.table.open_reservations()) == 1


def test_a_pod_that_somebody_else_brought_is_adopted_and_what_is_not_there_is_owed(watching: Watching) -> None:
    leader = watching.lead()
    for name, units in (("a", 6), ("b", 5)):
        watching.cluster.create_pod(name, units)
        watching.cluster.place(name, NODE)

    watching.publish(leader)
    watching.run(leader, 1)

    assert watching.ledger().owed == {SLOT: 3}
    assert not watching.ledger().avail
    assert watching.happened() == [ReservationEvent.ADOPTED, ReservationEvent.ADOPTED, ReservationEvent.OWED]


@pytest.mark.parametrize("end", ["finish", "delete"])
def test_what_a_pod_held_is_free_when_its_end_is_published(watching: Watching, end: str) -> None:
    leader = watching.lead()
    watching.cluster.create_pod("a", 3)
    watching.cluster.place("a", NODE)
    watching.publish(leader)
    watching.run(leader, 1)
    getattr(watching.cluster, end)("a")

    watching.run(leader, EXPIRY)
    assert watching.states() == {"a": EntryState.BOUND}
    watching.publish(leader)
    watching.run(leader)

    assert watching.ledger().avail == {SLOT: 8}
    assert not watching.states()
    assert watching.made_room


def test_a_pod_that_ended_before_it_was_published_on_its_node_is_released_at_once(watching: Watching) -> None:
    leader = watching.lead()
    watching.reserve(watching.cluster.create_pod("a"))
    watching.cluster.place("a", NODE)
    watching.cluster.finish("a")

    watching.publish(leader)
    watching.run(leader, 5)

    assert not watching.states()
    assert watching.table.open_reservations() == []


def test_a_reservation_for_a_pod_that_is_published_elsewhere_is_released_at_once(watching: Watching) -> None:
    watching.node(8, "node-b")
    leader = watching.lead()
    watching.publish(leader)
    watching.run(leader, 1)
    watching.reserve(watching.cluster.create_pod("a"))
    watching.cluster.place("a", "node-b")

    watching.publish(leader)
    watching.run(leader, 5)

    assert not watching.states()
    assert watching.states("node-b") == {"a": EntryState.BOUND}


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
    watching: Watching, units: int, avail: dict[str, int], owed: dict[str, int]
) -> None:
    leader = watching.lead()
    watching.cluster.create_pod("a", 5)
    watching.cluster.place("a", NODE)
    watching.publish(leader)
    watching.run(leader, 1)
    watching.events.clear()
    watching.node(units)

    watching.publish(leader)
    watching.run(leader)

    assert (watching.ledger().avail, watching.ledger().owed) == (avail, owed)
    assert (ReservationEvent.OWED in watching.happened()) is bool(owed)


def test_what_grows_or_is_released_pays_what_is_owed_first(watching: Watching) -> None:
    leader = watching.lead()
    for name in ("a", "b"):
        watching.cluster.create_pod(name, 4)
        watching.cluster.place(name, NODE)
    watching.publish(leader)
    watching.run(leader, 1)
    watching.node(2)
    watching.publish(leader)
    watching.run(leader)
    assert watching.ledger().owed == {SLOT: 6}

    watching.cluster.delete("a")
    watching.publish(leader)
    watching.run(leader)
    assert watching.ledger().owed == {SLOT: 2}

    watching.node(5)
    watching.publish(leader)
    watching.run(leader)
    assert (watching.ledger().avail, watching.ledger().owed) == ({SLOT: 1}, {})


def test_the_ledger_of_a_node_that_is_gone_goes_with_its_last_entry(watching: Watching) -> None:
    leader = watching.lead()
    watching.cluster.create_pod("a")
    watching.cluster.place("a", NODE)
    watching.publish(leader)
    watching.run(leader, 1)
    del watching.cluster.nodes[NODE]

    watching.publish(leader)
    watching.run(leader)
    assert watching.ledger().owed == {SLOT: 1}

    watching.cluster.delete("a")
    watching.publish(leader)
    watching.run(leader)
    assert watching.table.node(NODE) is None


# ------------------------------------------------------------------------------------------------------------- expiry


def test_a_reservation_whose_bind_never_completed_is_given_back_after_its_time_and_wakes_the_queue(
    watching: Watching,
) -> None:
    leader = watching.lead()
    watching.run(leader, 1)
    key = watching.cluster.create_pod("a", 3)
    watching.reserve(key, 3)
    version = watching.cluster.pods["a"].version
    rooms = watching.made_room

    watching.run(leader, EXPIRY - 3)
    assert watching.states() == {"a": EntryState.RESERVED}
    watching.run(leader, 6)

    assert not watching.states()
    assert watching.ledger().avail == {SLOT: 8}
    assert watching.table.open_reservations() == []
    assert watching.cluster.pods["a"].version > version, "a late Binding would succeed"
    assert watching.made_room == rooms + 1
    assert ReservationEvent.EXPIRED in watching.happened()


@pytest.mark.parametrize("end", ["finish", "delete"])
def test_of_a_pod_that_ended_unseen_the_reservation_expires(watching: Watching, end: str) -> None:
    leader = watching.lead()
    watching.reserve(watching.cluster.create_pod("a"))
    getattr(watching.cluster, end)("a")
    watching.run(leader, EXPIRY + 5)
    assert not watching.states()


def test_a_pod_of_the_same_name_is_another_one_and_is_not_touched(watching: Watching) -> None:
    leader = watching.lead()
    watching.reserve(watching.cluster.create_pod("a"))
    watching.cluster.delete("a")
    watching.cluster.create_pod("a")
    version = watching.cluster.pods["a"].version

    watching.run(leader, EXPIRY + 5)

    assert not watching.states()
    assert watching.cluster.pods["a"].version == version


def test_a_reservation_is_kept_while_the_api_server_does_not_answer(watching: Watching) -> None:
    leader = watching.lead(pods=_Silent())
    watching.reserve(watching.cluster.create_pod("a"))

    watching.run(leader, 2 * EXPIRY)

    assert watching.states() == {"a": EntryState.RESERVED}
    assert ReservationEvent.CLUSTER_UNAVAILABLE in watching.happened()


def test_a_pod_that_changes_between_the_look_and_the_touch_is_looked_at_again(watching: Watching) -> None:
    class BoundMeanwhile(_Forwarding):
        def touch(self, pod: PodKey, resource_version: str) -> Touched | Changed | NotFound | Unknown:
            if not watching.cluster.pods["a"].node:
                watching.cluster.place("a", NODE)
            return super().touch(pod, resource_version)

    leader = watching.lead(pods=BoundMeanwhile(watching.cluster))
    watching.reserve(watching.cluster.create_pod("a"))

    watching.run(leader, EXPIRY + 5)

    assert watching.states() == {"a": EntryState.RESERVED}


def test_another_attempt_that_took_the_entry_over_meanwhile_keeps_it(watching: Watching) -> None:
    later: list[str] = []

    class TakenOver(_Forwarding):
        def touch(self, pod: PodKey, resource_version: str) -> Touched | Changed | NotFound | Unknown:
            touched = super().touch(pod, resource_version)
            if not later:
                later.append("attempt-later")
                found = watching.ledger().entries[pod.uid]
                taken = replace(found, attempt="attempt-later", since=watching.clock.now)
                watching.table.put_open(OpenReservation(pod, NODE, "attempt-later", found.shares, watching.clock.now))
                assert Ledger(watching.table).take_over(NODE, found, taken).done
            return touched

    leader = watching.lead(pods=TakenOver(watching.cluster))
    key = watching.cluster.create_pod("a")
    watching.reserve(key)

    watching.run(leader, EXPIRY + 5)

    assert watching.ledger().entries[key.uid].attempt == "attempt-later"
    assert [each.attempt for each in watching.table.open_reservations()] == ["attempt-later"]


def test_an_open_reservation_without_an_entry_is_deleted_and_nobody_is_touched(watching: Watching) -> None:
    leader = watching.lead()
    key = watching.cluster.create_pod("a")
    watching.table.put_open(OpenReservation(key, NODE, "attempt", {SLOT: 1}, watching.clock.now))
    version = watching.cluster.pods["a"].version

    watching.run(leader, EXPIRY + 5)

    assert watching.table.open_reservations() == []
    assert watching.cluster.pods["a"].version == version


def test_an_entry_without_an_open_reservation_is_met_by_the_sweep_and_expires(watching: Watching) -> None:
    key = watching.cluster.create_pod("a")
    entry = watching.reserve(key)
    watching.table.delete_open(key.uid, NODE, entry.attempt)

    watching.run(watching.lead(), EXPIRY + 5)

    assert not watching.states()


def test_a_reservation_of_a_clock_that_is_ahead_expires_all_the_same(watching: Watching) -> None:
    leader = watching.lead()
    key = watching.cluster.create_pod("a")
    entry = watching.reserve(key)
    watching.table.put_open(OpenReservation(key, NODE, entry.attempt, entry.shares, watching.clock.now + 1e6))

    watching.run(leader, EXPIRY + 5)

    assert not watching.states()


def test_an_operator_s_request_is_followed_at_once(watching: Watching) -> None:
    leader = watching.lead()
    key = watching.cluster.create_pod("a")
    entry = watching.reserve(key)
    watching.table.request_release(OpenReservation(key, NODE, entry.attempt, entry.shares, entry.since))

    watching.run(leader, 3)

    assert not watching.states()
    assert watching.table.open_reservations() == []


def test_an_operator_s_request_does_not_take_anything_from_a_pod_that_runs(watching: Watching) -> None:
    leader = watching.lead()
    key = watching.cluster.create_pod("a")
    watching.cluster.place("a", NODE)
    watching.publish(leader)
    watching.run(leader, 1)
    watching.table.request_release(OpenReservation(key, NODE, "", {SLOT: 1}, watching.clock.now))

    watching.run(leader, 3)

    assert watching.states() == {"a": EntryState.BOUND}
    assert watching.table.open_reservations() == []


# ------------------------------------------------------------------------------------------------------ later watchers


def test_a_deposed_watcher_writes_nothing_where_its_successor_has_been(watching: Watching) -> None:
    deposed = watching.lead()
    watching.run(deposed, 1)
    watching.cluster.create_pod("a")
    watching.cluster.place("a", NODE)
    watching.publish(deposed)  # on its list of things to do; and now it stands still
    watching.cluster.delete("a")
    watching.publish()
    successor = watching.lead()
    watching.run(successor, 1)

    watching.run(deposed, 1)

    assert not watching.states()
    assert deposed.is_outranked
    assert watching.happened()[-1] is ReservationEvent.OUTRANKED


def test_a_deposed_watcher_s_old_capacity_is_refused(watching: Watching) -> None:
    deposed = watching.lead()
    watching.run(deposed, 1)
    watching.node(2)
    watching.publish(deposed)
    watching.node(8)
    watching.publish()
    watching.run(watching.lead(), 1)

    watching.run(deposed, 1)

    assert watching.ledger().capacity == {SLOT: 8}


def test_every_ledger_is_claimed_once_by_every_leader_and_then_only_read(watching: Watching) -> None:
    table = _Counting()
    table.put_marker(Marker(MarkerState.READY, 0, 0, "ready"), None)
    counted = Watching(table=table, ready=False)
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


def test_troubles_of_the_table_are_told_and_outlasted(watching: Watching) -> None:
    table = _Failing(watching.table)  # type: ignore[arg-type]
    leader = watching.lead(table=table)
    watching.cluster.create_pod("a")
    watching.cluster.place("a", NODE)
    table.fails = True
    watching.publish(leader)
    watching.run(leader, 5)
    assert set(watching.happened()) == {ReservationEvent.TABLE_UNAVAILABLE}

    table.fails = False
    watching.run(leader, 5)
    assert watching.states() == {"a": EntryState.BOUND}


# ------------------------------------------------------------------------------------------------------------ rebuild


def test_a_new_table_is_made_from_the_pods_after_what_may_be_under_way_has_ended() -> None:
    watching = Watching(ready=False)
    watching.node(8)
    watching.cluster.create_pod("a", 3)
    watching.cluster.place("a", NODE)
    watching.cluster.create_pod("waiting")
    version = watching.cluster.pods["waiting"].version
    watching.publish()
    leader = watching.lead()

    watching.run(leader, HTTP_TIMEOUT + 4)
    watching.publish(leader)
    watching.run(leader, 0.5)
    assert watching.table.node(NODE) is None
    watching.run(leader, 3)
    assert watching.table.node(NODE) is None, "what is published was observed too early"
    watching.publish(leader)
    watching.run(leader, 3)

    assert watching.ledger().avail == {SLOT: 5}
    assert watching.states() == {"a": EntryState.BOUND}
    assert watching.cluster.pods["waiting"].version > version, "a Binding of before would succeed"
    marker = watching.table.marker()
    assert marker is not None
    assert marker.state is MarkerState.READY


def test_while_it_is_rebuilt_nothing_can_be_reserved(watching: Watching) -> None:
    leader = watching.lead()
    watching.run(leader, 1)
    seen = watching.table.marker()
    watching.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), seen)

    watching.run(leader, 3)

    found = watching.table.node(NODE)
    assert found is not None
    assert found.avail is None


def test_a_bind_that_comes_to_its_end_during_the_rebuild_is_in_the_new_ledger(watching: Watching) -> None:
    leader = watching.lead()
    watching.run(leader, 1)
    watching.reserve(watching.cluster.create_pod("a", 3), 3)
    watching.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), watching.table.marker())
    watching.run(leader, HTTP_TIMEOUT + 4)
    watching.cluster.place("a", NODE)

    watching.run(leader, 3)
    watching.publish(leader)
    watching.run(leader, 3)
    watching.publish(leader)
    watching.run(leader, 3)

    assert watching.states() == {"a": EntryState.BOUND}
    assert watching.table.open_reservations() == []


def test_a_successor_begins_a_rebuild_that_was_cut_off_anew(watching: Watching) -> None:
    first = watching.lead()
    watching.run(first, 1)
    watching.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), watching.table.marker())
    watching.run(first, HTTP_TIMEOUT)
    successor = watching.lead()

    for _ in range(4):
        watching.run(successor, HTTP_TIMEOUT)
        watching.publish(successor)
    watching.run(successor, 3)

    assert watching.ledger().avail == {SLOT: 8}
    marker = watching.table.marker()
    assert marker is not None
    assert (marker.state, marker.epoch) == (MarkerState.READY, watching.ledger().epoch)


def test_a_table_that_is_lost_is_not_filled_as_if_it_were_a_new_node(watching: Watching) -> None:
    leader = watching.lead()
    watching.run(leader, 1)
    watching.table._nodes.clear()  # type: ignore[attr-defined]
    watching.table._marker = None  # type: ignore[attr-defined]
    watching.node(9)

    watching.publish(leader)
    watching.run(leader)

    assert watching.table.node(NODE) is None
    assert NAMESPACE


# ---------------------------------------------------------------------------------------------------------------------


class _Forwarding(ReservedPods):
    def __init__(self, pods: ReservedPods) -> None:
        self._pods = pods

    def find(self, pod: PodKey) -> Found | NotFound | Unknown:
        return self._pods.find(pod)

    def touch(self, pod: PodKey, resource_version: str) -> Touched | Changed | NotFound | Unknown:
        return self._pods.touch(pod, resource_version)


class _Silent(ReservedPods):
    def find(self, pod: PodKey) -> Found | NotFound | Unknown:
        return Unknown("no route to host")

    def touch(self, pod: PodKey, resource_version: str) -> Touched | Changed | NotFound | Unknown:
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
