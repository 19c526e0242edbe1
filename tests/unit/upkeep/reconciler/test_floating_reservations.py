"""Reservations with several owners: expiry, leaders that end, and pods that are not published."""

from __future__ import annotations

import pytest

from berth.bind.share import Request, Reservation, Reservations
from berth.pods import Binding
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.upkeep.reconciler.events import ReservationEventType
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import FLOATING_SLOTS, NAMESPACE, REQUEST, SLOT, SLOTS_AND_FLOATING_SEATS
from tests.unit.upkeep.reconciler.floating_harness import (
    BOUND,
    EARLY,
    EXPIRY,
    IN_A,
    IN_B,
    OTHER,
    RESERVED,
    SEATS,
    SLOTS,
    CheckedTable,
    bind,
    harness_of,
    kinds,
    led,
    owners,
    publish,
    remove_node,
    reserved,
    zones,
)
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

# --------------------------------------------------------------------------------------------------------------- expiry


class TestExpiry:
    @pytest.mark.parametrize("counting", kinds("seats", "limit", "slots"))
    def test_releases_the_entry_of_every_owner_after_the_pod_was_touched(self, counting: Counting) -> None:
        harness, leader = harness_of(counting)
        reserved(harness, leader)
        before = {ledger.owner: ledger.capacity for ledger in harness.table.nodes()}
        version, releases = harness.cluster.pods["a"].version, harness.capacity_releases

        harness.run(leader, EXPIRY + 5)

        assert {ledger.owner: ledger.avail for ledger in harness.table.nodes()} == before
        assert harness.table.open_reservations() == []
        assert harness.cluster.pods["a"].version > version, "a late Binding would succeed"
        assert harness.capacity_releases == releases + 1
        assert harness.happened() == [ReservationEventType.EXPIRED]

    def test_keeps_every_entry_while_the_pod_is_on_its_node_and_not_published(self) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        reserved(harness, leader)
        harness.cluster.place("a", NODE)
        harness.run(leader, 2 * EXPIRY)
        assert harness.states() == harness.states(SEATS) == {"a": RESERVED}
        assert len(harness.table.open_reservations()) == 1

    @pytest.mark.parametrize("owner", [NODE, SEATS])
    def test_releases_the_remaining_entry_if_the_other_entry_is_gone(self, owner: str) -> None:
        """The watcher ended between the releases."""
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        key = reserved(harness, leader)
        entry = harness.ledger(owner).entries[key.uid]
        assert leader._expiry._ledger.release(owner, entry).done
        harness.run(harness.lead(), EXPIRY + 5)
        assert harness.states() == harness.states(SEATS) == {}
        assert harness.table.open_reservations() == []

    @pytest.mark.parametrize("owner", [NODE, SEATS])
    def test_expiry_keeps_the_entry_of_a_later_attempt_and_releases_the_other_entry(self, owner: str) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        key = reserved(harness, leader)
        entry = harness.ledger(owner).entries[key.uid]
        assert leader._expiry._ledger.release(owner, entry).done
        harness.clock.advance(EXPIRY - 2)
        later = harness.reserve_shares(key, entry.shares)
        harness.run(leader, 8)
        assert [each.attempt for each in harness.table.open_reservations()] == [later.attempt]
        assert {each.owner for each in harness.table.nodes() if each.entries} == {owner}

    def test_expires_the_entry_of_a_pool_without_an_open_reservation(self) -> None:
        harness, leader = harness_of(FLOATING_SLOTS)
        key = reserved(harness, leader)
        [opened] = harness.table.open_reservations()
        InMemoryLedgerTable.delete_open(harness.table, key.uid, NODE, opened.attempt)  # type: ignore[arg-type]
        harness.run(harness.lead(), EXPIRY + 5)
        assert harness.states(SLOTS) == {}

    @pytest.mark.parametrize("nodes", [(NODE,), (OTHER, NODE)], ids=["another scheduler", "an earlier attempt"])
    def test_keeps_the_entry_of_the_cluster_if_the_pod_is_bound_to_another_node(self, nodes: tuple[str, ...]) -> None:
        """The pod uses the cluster's seats on any node. nodes: of each attempt; the last one took over the entry."""
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        key = harness.cluster.create_pod("a", 2)
        publish(harness, leader)
        ids = iter("12")
        reservations = Reservations(harness.table, lambda: next(ids), harness.clock, call_seconds=0.0)
        for node in nodes:
            binding, request = Binding(NAMESPACE, "a", key.uid, node), Request((Demand(SLOT, 2),), {SEATS: 2})
            found = reservations.reserve(binding, request, SLOTS_AND_FLOATING_SEATS, lambda: HTTP_TIMEOUT)
            assert isinstance(found, Reservation)
        harness.cluster.place("a", OTHER)

        harness.run(leader, EXPIRY + 5)

        assert harness.states() == {}
        assert harness.states(SEATS).keys() == {"a"}
        publish(harness, leader)
        assert harness.states(OTHER) == harness.states(SEATS) == {"a": BOUND}
        assert harness.table.open_reservations() == []


# -------------------------------------------------------------------------------------------------------------- crashes


class Died(BaseException):
    """The process ended."""


class DyingTable(CheckedTable):
    """Shares the content of a table. Ends the process at the first write after `writes` changes of entries."""

    def __init__(self, table: CheckedTable, writes: int) -> None:
        self.__dict__ |= table.__dict__
        self._left = writes

    def write(self, node, change):  # type: ignore[no-untyped-def]
        if self._left == 0:
            raise Died
        written = super().write(node, change)
        self._left -= bool(change.entries)
        return written


@pytest.mark.parametrize("counting", kinds("seats", "limit"))
@pytest.mark.parametrize("event", ["the pod ends", "the pod is confirmed", "the pod is gone", "the bind has died"])
def test_next_leader_completes_work_of_leader_that_died_between_two_owners(counting: Counting, event: str) -> None:
    harness, leader = harness_of(counting)
    reserved(harness, leader)
    if event in ("the pod ends", "the pod is confirmed"):
        harness.cluster.place("a", NODE)
    if event == "the pod ends":
        publish(harness, leader)
        harness.cluster.delete("a")
    if event == "the pod is gone":
        harness.cluster.delete("a")
    assert isinstance(harness.table, CheckedTable)
    mortal = harness.lead(table=DyingTable(harness.table, 1))
    harness.publish(mortal)
    with pytest.raises(Died):
        harness.run(mortal, EXPIRY + 5)

    harness.run(harness.lead(), EXPIRY + 5)

    held = {ledger.owner: list(ledger.entries.values()) for ledger in harness.table.nodes() if ledger.entries}
    assert len(held) == (2 if event == "the pod is confirmed" else 0)
    assert all(entry.state is BOUND for entries in held.values() for entry in entries)
    assert harness.table.open_reservations() == []


# ------------------------------------------------------------------------------- pods that are not published completely


def assert_all_hold(harness: ReconcilerHarness, name: str) -> None:
    """Assert that the running pod has a confirmed entry in every ledger."""
    assert {each.owner: harness.states(each.owner) for each in harness.table.nodes()} == {
        each.owner: {name: BOUND} for each in harness.table.nodes()
    }
    assert harness.table.open_reservations() == []


def assert_all_free(harness: ReconcilerHarness) -> None:
    """Assert that every ledger is empty and that its whole capacity is available."""
    ledgers = harness.table.nodes()
    assert {each.owner: each.avail for each in ledgers} == {each.owner: each.capacity for each in ledgers}
    assert {each.owner: dict(each.entries) for each in ledgers} == {each.owner: {} for each in ledgers}


class TestUnpublishedPod:
    """A pod whose entries cannot all be derived from its published requests."""

    @pytest.mark.parametrize("node", [NODE, EARLY])
    @pytest.mark.parametrize("counting", kinds("seats", "slots and seats", "limit"))
    def test_releases_every_entry_after_the_end_of_a_pod_that_was_too_large(
        self, counting: Counting, node: str
    ) -> None:
        harness, leader = harness_of(counting, node)
        harness.cluster.create_pod("waiting")
        publish(harness, leader)
        bind(harness, leader, "a", node, 2)
        harness.cluster.hide("a")
        leader = led(harness, EXPIRY)
        assert_all_hold(harness, "a")

        harness.cluster.finish("a")
        publish(harness, leader)

        assert_all_free(harness)

    @pytest.mark.parametrize("counting", kinds("seats", "slots and seats"))
    @pytest.mark.parametrize("new_leader", [True, False])
    def test_releases_every_entry_when_a_pod_ends_whose_request_annotation_was_removed(
        self, counting: Counting, new_leader: bool
    ) -> None:
        harness, leader = harness_of(counting, NODE)
        bind(harness, leader, "a", NODE, 2)
        harness.cluster.annotate("a", REQUEST, None)
        publish(harness, leader)
        if new_leader:
            leader = led(harness, EXPIRY)
        assert_all_hold(harness, "a")

        harness.cluster.delete("a")
        publish(harness, leader)

        assert_all_free(harness)

    @pytest.mark.parametrize("counting", kinds("seats", "slots and seats"))
    def test_confirms_every_entry_if_an_annotation_was_removed_before_publication(self, counting: Counting) -> None:
        harness, leader = harness_of(counting, NODE)
        key = harness.cluster.create_pod("a", 2)
        harness.reserve(key, 2)
        harness.cluster.place("a", NODE)
        harness.cluster.annotate("a", REQUEST, None)

        publish(harness, leader)
        harness.run(leader, EXPIRY)
        assert_all_hold(harness, "a")

        harness.cluster.delete("a")
        publish(harness, leader)
        assert_all_free(harness)

    def test_keeps_the_labels_of_a_removed_node_for_a_pod_that_was_too_large(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-a", 3)
        harness.cluster.hide("one")
        leader = led(harness, EXPIRY)
        assert harness.states(IN_A) == {"one": BOUND}
        remove_node(harness, "node-a")
        publish(harness, leader)

        harness.cluster.finish("one")
        publish(harness, leader)

        assert owners(harness) == [IN_B]
