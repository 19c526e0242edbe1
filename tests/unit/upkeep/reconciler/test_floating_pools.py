"""The ledgers of floating pools: they follow the nodes, labels and pods that are published."""

from __future__ import annotations

import pytest

from berth.bind.share import Request, Reservation, Reservations
from berth.ledger.nodes.entry import EntryState, NodeLedger
from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import Binding
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import cluster_pool, label_pool, namespace_pool
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import (
    FLOATING_SLOTS,
    FLOATING_SLOTS_AND_SEATS,
    LIMITED_SLOTS,
    NAMESPACE,
    REQUEST,
    SEAT,
    SLOT,
    SLOTS_AND_FLOATING_SEATS,
    SLOTS_OF_ZONES,
    ZONE,
)
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

BOUND, RESERVED = EntryState.BOUND, EntryState.RESERVED
EXPIRY = 30.0
OTHER = "node-b"
EARLY = "a-node"
"""Its ledger is reconciled before those of floating pools, which are in the order of their names."""

SLOTS, SEATS = cluster_pool(SLOT), cluster_pool(SEAT)
IN_A, IN_B = label_pool(SLOT, ZONE, "a"), label_pool(SLOT, ZONE, "b")
OF_ML, OF_OTHER = namespace_pool(SLOT, NAMESPACE), namespace_pool(SLOT, "other")


KINDS = {
    "seats": SLOTS_AND_FLOATING_SEATS,
    "slots": FLOATING_SLOTS,
    "slots and seats": FLOATING_SLOTS_AND_SEATS,
    "limit": LIMITED_SLOTS,
    "zones": SLOTS_OF_ZONES,
}


def kinds(*names: str) -> list[object]:
    """Return these configurations as parameters."""
    return [pytest.param(KINDS[name], id=name) for name in names]


class CheckedTable(InMemoryLedgerTable):
    """Checks that no open reservation is deleted before the reserved entries of its attempt. A rebuild finds those of
    the ledgers that it replaces."""

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        key = uid, node, attempt
        opened = [each for each in self.open_reservations() if (each.pod.uid, each.node, each.attempt) == key]
        ledgers = [self.node(owner) for each in opened for owner in each.owners]
        for ledger in ledgers:
            entry = None if ledger is None or ledger.avail is None else ledger.entries.get(uid)
            if ledger is not None and entry is not None and entry.attempt == attempt:
                assert entry.state is BOUND, f"the reserved entry in {ledger.owner} has no open reservation any more"
        super().delete_open(uid, node, attempt)


def harness_of(counting: Counting, *nodes: str, units: int = 8) -> tuple[ReconcilerHarness, Reconciler]:
    """Return published nodes with their ledgers, by default two, and a leader."""
    harness = ReconcilerHarness(counting=counting, table=CheckedTable())
    for name in nodes or (NODE, OTHER):
        harness.node(units, name)
    return harness, led(harness)


def led(harness: ReconcilerHarness, seconds: float = 1.0) -> Reconciler:
    """Return a new leader that knows all that is published, after so many seconds."""
    harness.publish()
    leader = harness.lead()
    harness.run(leader, seconds)
    harness.happened()
    return leader


def publish(harness: ReconcilerHarness, leader: Reconciler, seconds: float = 3.0) -> None:
    harness.publish(leader)
    harness.run(leader, seconds)


def place(
    harness: ReconcilerHarness, name: str, node: str = NODE, units: int = 2, namespace: str = NAMESPACE
) -> PodKey:
    """Another component binds a new pod."""
    key = harness.cluster.create_pod(name, units, namespace)
    harness.cluster.place(name, node)
    return key


def bind(harness: ReconcilerHarness, leader: Reconciler, name: str, node: str = NODE, units: int = 2) -> PodKey:
    """Berth binds a new pod, which is published."""
    key = harness.cluster.create_pod(name, units)
    harness.reserve(key, units, node)
    harness.cluster.place(name, node)
    publish(harness, leader)
    harness.happened()
    return key


def owners(harness: ReconcilerHarness) -> list[str]:
    """Return the owners that have a ledger."""
    return [ledger.owner for ledger in harness.table.nodes()]


# ------------------------------------------------------------------------------------------------------------- cluster


class TestClusterPool:
    def test_exists_without_a_node(self) -> None:
        harness = ReconcilerHarness(counting=FLOATING_SLOTS)
        led(harness)
        assert owners(harness) == [SLOTS]
        assert harness.ledger(SLOTS).avail == {SLOTS: 8}

    def test_is_created_with_the_pods_on_all_nodes(self) -> None:
        harness = ReconcilerHarness(counting=FLOATING_SLOTS)
        for name in (NODE, OTHER):
            harness.node(8, name)
        place(harness, "a", NODE, 3)
        place(harness, "b", OTHER, 1)
        led(harness)
        assert owners(harness) == [SLOTS]
        assert harness.states(SLOTS) == {"a": BOUND, "b": BOUND}
        assert harness.ledger(SLOTS).avail == {SLOTS: 4}

    def test_adopts_pods_of_another_scheduler_and_owes_the_amount_above_capacity(self) -> None:
        harness, leader = harness_of(FLOATING_SLOTS)
        place(harness, "a", NODE, 6)
        place(harness, "b", OTHER, 5)
        publish(harness, leader)
        assert harness.ledger(SLOTS).owed == {SLOTS: 3}
        assert harness.happened() == [
            ReservationEventType.ADOPTED,
            ReservationEventType.ADOPTED,
            ReservationEventType.OWED,
        ]

    def test_charges_a_pod_of_another_scheduler_at_most_the_capacity(self) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        place(harness, "a", NODE, 7)
        publish(harness, leader)
        assert harness.ledger(SEATS).allocated(SEATS) == 5
        assert harness.ledger().allocated(SLOT) == 7
        assert harness.happened() == [
            ReservationEventType.ADOPTED,
            ReservationEventType.BEYOND_LIMIT,
            ReservationEventType.ADOPTED,
        ]

    def test_confirms_reservation_without_an_entry_of_the_node(self) -> None:
        harness, leader = harness_of(FLOATING_SLOTS)
        harness.reserve(harness.cluster.create_pod("a", 3), 3)
        harness.cluster.place("a", NODE)
        publish(harness, leader)
        assert harness.states(SLOTS) == {"a": BOUND}
        assert harness.table.open_reservations() == []
        assert harness.happened() == [ReservationEventType.CONFIRMED]

    @pytest.mark.parametrize("node", [NODE, EARLY])
    def test_confirms_reservation_at_the_node_and_in_the_cluster(self, node: str) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS, node)
        harness.reserve(harness.cluster.create_pod("a", 3), 3, node)
        harness.cluster.place("a", node)
        publish(harness, leader)
        assert harness.states(node) == harness.states(SEATS) == {"a": BOUND}
        assert (harness.ledger(node).avail, harness.ledger(SEATS).avail) == ({SLOT: 5}, {SEATS: 2})
        assert harness.table.open_reservations() == []
        assert harness.happened() == [ReservationEventType.CONFIRMED] * 2

    @pytest.mark.parametrize("end", ["finish", "delete"])
    @pytest.mark.parametrize("new_leader", [True, False])
    def test_releases_every_entry_when_the_end_of_the_pod_is_published(self, end: str, new_leader: bool) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        bind(harness, leader, "a", NODE, 3)
        if new_leader:
            leader = led(harness)
        releases = harness.capacity_releases
        getattr(harness.cluster, end)("a")
        publish(harness, leader)
        assert (harness.ledger().avail, harness.ledger(SEATS).avail) == ({SLOT: 8}, {SEATS: 5})
        assert harness.capacity_releases == releases + 2

    def test_moves_to_a_larger_capacity_with_another_configuration(self) -> None:
        harness, leader = harness_of(FLOATING_SLOTS)
        bind(harness, leader, "a", NODE, 3)
        [resource] = FLOATING_SLOTS._all.values()
        capacity = resource.capacity
        assert capacity is not None
        larger = resource.model_copy(update={"capacity": capacity.model_copy(update={"value": 10})})
        harness._counting = Counting((larger,))
        led(harness)
        assert harness.ledger(SLOTS).capacity == {SLOTS: 10}
        assert harness.ledger(SLOTS).avail == {SLOTS: 7}

    def test_reports_a_pod_whose_annotation_claims_more_in_the_cluster(self) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        bind(harness, leader, "a")
        harness.cluster.annotate("a", REQUEST, "4")
        harness.happened()
        harness.publish(leader)
        harness.run(leader, 3)
        assert [(event.type, event.node) for event in harness.events] == [(ReservationEventType.DIVERGED, SEATS)]
        assert harness.ledger(SEATS).allocated(SEATS) == 2


# --------------------------------------------------------------------------------------------------------------- labels


def zones(**by_node: str) -> tuple[ReconcilerHarness, Reconciler]:
    """Return nodes in these zones, by their last letter, and one without a zone."""
    harness = ReconcilerHarness(counting=SLOTS_OF_ZONES, table=CheckedTable())
    for letter, zone in by_node.items():
        harness.node(8, f"node-{letter}")
        harness.cluster.zones[f"node-{letter}"] = zone
    harness.node(8, "node-z")
    return harness, led(harness)


def remove_node(harness: ReconcilerHarness, name: str) -> None:
    del harness.cluster.nodes[name]


class TestLabelPool:
    def test_exists_for_each_value_that_a_node_has(self) -> None:
        harness, _ = zones(a="a", b="b", c="b")
        assert owners(harness) == [IN_A, IN_B]
        assert (harness.ledger(IN_A).capacity, harness.ledger(IN_B).capacity) == ({IN_A: 4}, {IN_B: 6})

    def test_counts_the_pods_on_its_nodes_only(self) -> None:
        harness, leader = zones(a="a", b="b", c="b")
        for name, node in (("one", "node-a"), ("two", "node-b"), ("three", "node-c"), ("none", "node-z")):
            place(harness, name, node, 1)
        publish(harness, leader)
        assert harness.states(IN_A) == {"one": BOUND}
        assert harness.states(IN_B) == {"two": BOUND, "three": BOUND}

    def test_confirms_and_releases_a_reservation(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-b", 3)
        assert harness.states(IN_B) == {"one": BOUND}
        assert harness.table.open_reservations() == []
        harness.cluster.delete("one")
        publish(harness, leader)
        assert harness.ledger(IN_B).avail == {IN_B: 6}

    @pytest.mark.parametrize("new_leader", [True, False])
    def test_pods_follow_their_node_when_its_label_changes(self, new_leader: bool) -> None:
        harness, leader = zones(a="a", b="b", c="a")
        bind(harness, leader, "one", "node-a", 3)
        bind(harness, leader, "two", "node-c", 1)
        harness.cluster.zones["node-a"] = "b"
        if new_leader:
            leader = led(harness)
        else:
            publish(harness, leader)
        assert harness.states(IN_A) == {"two": BOUND}
        assert harness.states(IN_B) == {"one": BOUND}
        assert (harness.ledger(IN_A).avail, harness.ledger(IN_B).avail) == ({IN_A: 3}, {IN_B: 3})
        harness.cluster.delete("one")
        publish(harness, leader)
        assert harness.ledger(IN_B).avail == {IN_B: 6}

    def test_disappears_when_no_node_has_its_value_any_more(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-a", 3)
        harness.cluster.zones["node-a"] = "b"
        publish(harness, leader)
        assert owners(harness) == [IN_B]
        assert harness.states(IN_B) == {"one": BOUND}

    def test_releases_pods_of_a_node_that_loses_its_label(self) -> None:
        harness, leader = zones(a="a", b="a")
        bind(harness, leader, "one", "node-a", 3)
        del harness.cluster.zones["node-a"]
        publish(harness, leader)
        assert harness.ledger(IN_A).avail == {IN_A: 4}
        assert owners(harness) == [IN_A]

    def test_appears_with_the_first_node_of_its_value(self) -> None:
        harness, leader = zones(a="a")
        harness.node(8, "node-b")
        harness.cluster.zones["node-b"] = "b"
        publish(harness, leader)
        assert harness.ledger(IN_B).avail == {IN_B: 6}

    def test_disappears_after_the_last_pod_of_a_removed_node(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-a", 3)
        remove_node(harness, "node-a")
        publish(harness, leader)
        assert harness.states(IN_A) == {"one": BOUND}, "the pod is still published there"
        assert harness.ledger(IN_A).owed == {IN_A: 3}
        harness.cluster.delete("one")
        publish(harness, leader)
        assert owners(harness) == [IN_B]

    def test_keeps_entries_while_its_only_node_is_replaced(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-a", 3)
        remove_node(harness, "node-a")
        publish(harness, leader)
        harness.node(8, "node-a")
        publish(harness, leader)
        assert harness.states(IN_A) == {"one": BOUND}
        assert (harness.ledger(IN_A).avail, harness.ledger(IN_A).owed) == ({IN_A: 1}, {})

    @pytest.mark.parametrize("new_leader", [True, False])
    def test_counts_a_pod_that_is_published_before_its_node(self, new_leader: bool) -> None:
        harness, leader = zones(a="a")
        place(harness, "one", "node-b", 3)
        publish(harness, leader)
        assert owners(harness) == [IN_A]
        harness.node(8, "node-b")
        harness.cluster.zones["node-b"] = "b"
        if new_leader:
            leader = led(harness)
        else:
            publish(harness, leader)
        assert harness.states(IN_B) == {"one": BOUND}
        assert harness.ledger(IN_B).avail == {IN_B: 3}
        harness.cluster.delete("one")
        publish(harness, leader)
        assert harness.ledger(IN_B).avail == {IN_B: 6}

    def test_releases_the_entry_of_an_earlier_attempt_in_another_domain(self) -> None:
        harness, leader = zones(a="a", b="b")
        key = harness.cluster.create_pod("one", 3)
        publish(harness, leader)
        harness.reserve(key, 3, "node-b")
        harness.reserve(key, 3, "node-a")
        harness.cluster.place("one", "node-a")
        publish(harness, leader)
        assert harness.states(IN_A) == {"one": BOUND}
        assert harness.states(IN_B) == {}
        assert harness.table.open_reservations() == []

    def test_moves_a_reservation_whose_node_changes_its_label_before_the_pod_is_published(self) -> None:
        harness, leader = zones(a="a", b="b", c="a")
        harness.reserve(harness.cluster.create_pod("one", 3), 3, "node-a")
        harness.cluster.zones["node-a"] = "b"
        harness.cluster.place("one", "node-a")
        publish(harness, leader)
        assert harness.states(IN_A) == {}
        assert harness.states(IN_B) == {"one": BOUND}
        assert harness.table.open_reservations() == []


# ----------------------------------------------------------------------------------------------------------- namespaces


class TestNamespaceLimit:
    def test_appears_with_the_first_pod_and_disappears_after_the_last(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        assert owners(harness) == [NODE]
        harness.cluster.create_pod("a")
        harness.cluster.create_pod("b")
        publish(harness, leader)
        assert owners(harness) == [OF_ML, NODE]
        assert harness.ledger(OF_ML).avail == {OF_ML: 6}
        harness.cluster.delete("a")
        publish(harness, leader)
        assert owners(harness) == [OF_ML, NODE]
        harness.cluster.finish("b")
        publish(harness, leader)
        assert owners(harness) == [NODE]

    def test_exists_while_a_pod_runs(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        harness.cluster.create_pod("a", 2)
        publish(harness, leader)
        harness.reserve(harness.cluster.pods["a"].key, 2)
        harness.cluster.place("a", NODE)
        publish(harness, leader)
        assert harness.states() == harness.states(OF_ML) == {"a": BOUND}
        assert (harness.ledger().avail, harness.ledger(OF_ML).avail) == ({SLOT: 6}, {OF_ML: 4})
        harness.run(leader, EXPIRY)
        assert harness.states(OF_ML) == {"a": BOUND}
        assert harness.table.open_reservations() == []
        harness.cluster.delete("a")
        publish(harness, leader)
        assert owners(harness) == [NODE]
        assert harness.ledger().avail == {SLOT: 8}

    def test_counts_each_namespace_for_itself_on_all_nodes(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS)
        place(harness, "a", NODE, 3)
        place(harness, "b", OTHER, 2)
        place(harness, "c", OTHER, 4, "other")
        publish(harness, leader)
        assert harness.states(OF_ML) == {"a": BOUND, "b": BOUND}
        assert harness.states(OF_OTHER) == {"c": BOUND}
        assert (harness.ledger(OF_ML).avail, harness.ledger(OF_OTHER).avail) == ({OF_ML: 1}, {OF_OTHER: 2})

    def test_new_leader_finds_it_by_its_pods(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        place(harness, "a", NODE, 3)
        publish(harness, leader)
        leader = led(harness)
        assert harness.states(OF_ML) == {"a": BOUND}
        harness.cluster.delete("a")
        publish(harness, leader)
        assert owners(harness) == [NODE]

    def test_stays_while_a_pod_waits_after_the_last_running_pod(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        place(harness, "a", NODE, 3)
        harness.cluster.create_pod("b")
        publish(harness, leader)
        harness.cluster.delete("a")
        publish(harness, leader)
        assert harness.ledger(OF_ML).avail == {OF_ML: 6}

    def test_appears_again_with_a_pod_of_the_same_name(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        place(harness, "a", NODE, 3)
        publish(harness, leader)
        harness.cluster.delete("a")
        harness.cluster.create_pod("a", 2)
        publish(harness, leader)
        assert harness.ledger(OF_ML).avail == {OF_ML: 6}
        assert harness.states() == {}


# --------------------------------------------------------------------------------------------------------------- expiry


def reserved(harness: ReconcilerHarness, leader: Reconciler, name: str = "a", units: int = 2) -> PodKey:
    """Reserve for a pod that is published; its bind ends before its Binding."""
    key = harness.cluster.create_pod(name, units)
    publish(harness, leader)
    harness.reserve(key, units)
    harness.happened()
    return key


class TestExpiry:
    @pytest.mark.parametrize("counting", kinds("seats", "limit", "slots"))
    def test_releases_every_owner_once_the_pod_was_touched(self, counting: Counting) -> None:
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
    def test_releases_the_other_entry_if_one_is_gone(self, owner: str) -> None:
        """The watcher ended between the releases."""
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        key = reserved(harness, leader)
        entry = harness.ledger(owner).entries[key.uid]
        assert leader._expiry._ledger.release(owner, entry).done
        harness.run(harness.lead(), EXPIRY + 5)
        assert harness.states() == harness.states(SEATS) == {}
        assert harness.table.open_reservations() == []

    @pytest.mark.parametrize("owner", [NODE, SEATS])
    def test_releases_the_other_entry_if_one_belongs_to_a_later_attempt(self, owner: str) -> None:
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
        """The pod uses the cluster's seats there. The last attempt took over the entry. nodes: of the attempts."""
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
    """Shares the content of a table, and ends the process after so many writes of ledgers."""

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
def test_next_leader_completes_the_work_of_one_that_ended_between_two_owners(counting: Counting, event: str) -> None:
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


# -------------------------------------------------------------------------------------------------------------- rebuild


def lose_entries(harness: ReconcilerHarness, owner: str) -> None:
    """The item can no longer be read, and is being rebuilt."""
    table = harness.table
    assert isinstance(table, InMemoryLedgerTable)
    table._nodes[owner] = NodeLedger(owner, avail=None, epoch=table._nodes[owner].epoch)


def rebuild(harness: ReconcilerHarness, leader: Reconciler) -> None:
    for _ in range(5):
        harness.publish(leader)
        harness.run(leader, HTTP_TIMEOUT)


class TestRebuild:
    def test_restores_node_and_pools_of_a_lost_table_from_the_pods(self) -> None:
        harness = ReconcilerHarness(counting=SLOTS_AND_FLOATING_SEATS, ready=False, table=CheckedTable())
        harness.node(8)
        place(harness, "a", NODE, 3)
        harness.cluster.create_pod("waiting", 1)
        version = harness.cluster.pods["waiting"].version
        harness.publish()
        leader = harness.lead()
        harness.run(leader, 3)
        assert owners(harness) == []
        rebuild(harness, leader)
        assert harness.states() == harness.states(SEATS) == {"a": BOUND}
        assert (harness.ledger().avail, harness.ledger(SEATS).avail) == ({SLOT: 5}, {SEATS: 2})
        assert harness.cluster.pods["waiting"].version > version, "a Binding of before would succeed"

    @pytest.mark.parametrize("rebuilt", [(SEATS,), (NODE,), (NODE, SEATS), ()], ids=str)
    @pytest.mark.parametrize("is_bound", [True, False])
    def test_completes_a_bind_that_was_under_way(self, rebuilt: tuple[str, ...], is_bound: bool) -> None:
        """Rebuilds these ledgers, or all of them."""
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS, NODE)
        bind(harness, leader, "runs", NODE, 1)
        reserved(harness, leader, "a", 2)
        for owner in rebuilt:
            harness.table.begin_rebuild(owner, harness.ledger(owner).epoch)
        if not rebuilt:
            marker = Marker(MarkerState.REBUILDING, 0, 0, "asked")
            assert harness.table.put_marker(marker, harness.table.marker())
        leader = harness.lead()
        harness.run(leader, 1)
        if is_bound:
            harness.cluster.place("a", NODE)

        rebuild(harness, leader)
        harness.run(leader, EXPIRY)

        names = {"runs", "a"} if is_bound else {"runs"}
        assert harness.states() == harness.states(SEATS) == dict.fromkeys(names, BOUND)
        assert harness.table.open_reservations() == []
        left = 2 if is_bound else 0
        assert (harness.ledger().avail, harness.ledger(SEATS).avail) == ({SLOT: 7 - left}, {SEATS: 4 - left})

    def test_invalidates_the_binding_of_a_bind_whose_entry_is_lost(self) -> None:
        harness, leader = harness_of(FLOATING_SLOTS, NODE)
        reserved(harness, leader)
        version = harness.cluster.pods["a"].version
        lose_entries(harness, SLOTS)
        rebuild(harness, led(harness))
        assert harness.ledger(SLOTS).avail == {SLOTS: 8}
        assert harness.cluster.pods["a"].version > version, "a late Binding would succeed"
        assert harness.table.open_reservations() == []

    def test_waits_until_a_pod_whose_entry_is_lost_is_published(self) -> None:
        harness, leader = harness_of(FLOATING_SLOTS, NODE)
        reserved(harness, leader)
        lose_entries(harness, SLOTS)
        leader = led(harness, 3 * HTTP_TIMEOUT)
        leader.update({}, {}, harness.clock.now)
        harness.cluster.place("a", NODE)
        harness.run(leader, 3)
        found = harness.table.node(SLOTS)
        assert found is not None
        assert found.avail is None
        rebuild(harness, leader)
        assert harness.states(SLOTS) == {"a": BOUND}
        assert harness.ledger(SLOTS).avail == {SLOTS: 6}

    def test_keeps_bound_entries_of_the_pool_that_still_exist(self) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS, NODE)
        bind(harness, leader, "a", NODE, 3)
        harness.cluster.annotate("a", REQUEST, "1")
        harness.publish(leader)
        harness.run(leader, 1)
        harness.table.begin_rebuild(SEATS, harness.ledger(SEATS).epoch)
        rebuild(harness, led(harness))
        assert harness.ledger(SEATS).avail == {SEATS: 2}

    @pytest.mark.parametrize("counting", kinds("zones", "limit"))
    def test_restores_pools_of_labels_and_namespaces(self, counting: Counting) -> None:
        harness, leader = harness_of(counting, NODE)
        harness.cluster.zones[NODE] = "b"
        place(harness, "a", NODE, 3)
        publish(harness, leader)
        [pool] = set(owners(harness)) - {NODE}
        before = harness.ledger(pool).avail
        harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
        harness.run(leader, 3)
        assert harness.ledger(pool).avail is None
        rebuild(harness, leader)
        assert harness.states(pool) == {"a": BOUND}
        assert harness.ledger(pool).avail == before == {pool: 3}


# ------------------------------------------------------------------------------------ pods that are not published whole


def assert_all_hold(harness: ReconcilerHarness, name: str) -> None:
    """Assert that the running pod has a confirmed entry in every ledger."""
    assert {each.owner: harness.states(each.owner) for each in harness.table.nodes()} == {
        each.owner: {name: BOUND} for each in harness.table.nodes()
    }
    assert harness.table.open_reservations() == []


def assert_all_free(harness: ReconcilerHarness) -> None:
    """Assert that no pod has anything in any ledger."""
    ledgers = harness.table.nodes()
    assert {each.owner: each.avail for each in ledgers} == {each.owner: each.capacity for each in ledgers}
    assert {each.owner: dict(each.entries) for each in ledgers} == {each.owner: {} for each in ledgers}


class TestUnpublishedPod:
    """A pod whose published requests do not lead to all of its entries."""

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
    def test_releases_every_entry_after_the_end_of_a_pod_whose_owner_removed_a_request(
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
    def test_confirms_every_entry_of_a_pod_whose_owner_removed_a_request_before_its_publication(
        self, counting: Counting
    ) -> None:
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
