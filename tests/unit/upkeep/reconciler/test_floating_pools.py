"""The ledgers of floating pools: they follow the nodes, labels and pods that are published."""

from __future__ import annotations

import pytest

from berth.scheduling.managed_resources.counting import Counting
from berth.upkeep.reconciler.events import ReservationEventType
from tests.fakes.counted_cluster import FLOATING_SLOTS, LIMITED_SLOTS, REQUEST, SLOT, SLOTS_AND_FLOATING_SEATS
from tests.unit.upkeep.reconciler.floating_harness import (
    BOUND,
    EARLY,
    EXPIRY,
    IN_A,
    IN_B,
    OF_ML,
    OF_OTHER,
    OTHER,
    SEATS,
    SLOTS,
    bind,
    harness_of,
    led,
    owners,
    publish,
    remove_node,
    zones,
)
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

# ------------------------------------------------------------------------------------------------------------- cluster


class TestClusterPool:
    def test_floating_pool_exists_without_nodes(self) -> None:
        harness = ReconcilerHarness(counting=FLOATING_SLOTS)
        led(harness)
        assert owners(harness) == [SLOTS]
        assert harness.ledger(SLOTS).avail == {SLOTS: 8}

    def test_floating_pool_is_created_with_the_pods_on_all_nodes(self) -> None:
        harness = ReconcilerHarness(counting=FLOATING_SLOTS)
        for name in (NODE, OTHER):
            harness.node(8, name)
        harness.place("a", 3, NODE)
        harness.place("b", 1, OTHER)
        led(harness)
        assert owners(harness) == [SLOTS]
        assert harness.states(SLOTS) == {"a": BOUND, "b": BOUND}
        assert harness.ledger(SLOTS).avail == {SLOTS: 4}

    def test_charges_a_pod_of_another_scheduler_at_most_the_capacity(self) -> None:
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS)
        harness.place("a", 7, NODE)
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

    def test_new_configuration_raises_the_capacity_of_a_pool(self) -> None:
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
        harness.publish(leader, seconds=3)
        assert [(event.type, event.node) for event in harness.events] == [(ReservationEventType.DIVERGED, SEATS)]
        assert harness.ledger(SEATS).allocated(SEATS) == 2


# --------------------------------------------------------------------------------------------------------------- labels


class TestLabelPool:
    def test_pool_exists_for_each_label_value_of_a_node(self) -> None:
        harness, _ = zones(a="a", b="b", c="b")
        assert owners(harness) == [IN_A, IN_B]
        assert (harness.ledger(IN_A).capacity, harness.ledger(IN_B).capacity) == ({IN_A: 4}, {IN_B: 6})

    @pytest.mark.parametrize("new_leader", [True, False])
    def test_pods_move_to_another_pool_when_the_label_of_their_node_changes(self, new_leader: bool) -> None:
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

    def test_pool_is_deleted_with_the_last_node_of_its_label_value(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-a", 3)
        harness.cluster.zones["node-a"] = "b"
        publish(harness, leader)
        assert owners(harness) == [IN_B]
        assert harness.states(IN_B) == {"one": BOUND}

    def test_pool_releases_pods_of_a_node_that_loses_the_label(self) -> None:
        harness, leader = zones(a="a", b="a")
        bind(harness, leader, "one", "node-a", 3)
        del harness.cluster.zones["node-a"]
        publish(harness, leader)
        assert harness.ledger(IN_A).avail == {IN_A: 4}
        assert owners(harness) == [IN_A]

    def test_pool_is_deleted_after_the_last_pod_of_a_removed_node(self) -> None:
        harness, leader = zones(a="a", b="b")
        bind(harness, leader, "one", "node-a", 3)
        remove_node(harness, "node-a")
        publish(harness, leader)
        assert harness.states(IN_A) == {"one": BOUND}, "the pod is still published there"
        assert harness.ledger(IN_A).owed == {IN_A: 3}
        harness.cluster.delete("one")
        publish(harness, leader)
        assert owners(harness) == [IN_B]

    def test_pool_keeps_entries_while_its_only_node_is_replaced(self) -> None:
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
        harness.place("one", 3, "node-b")
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
    def test_pool_exists_from_the_first_to_the_last_pod_of_a_namespace(self) -> None:
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

    def test_pool_of_a_namespace_exists_while_a_pod_runs(self) -> None:
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

    def test_counts_each_namespace_separately_on_all_nodes(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS)
        harness.place("a", 3, NODE)
        harness.place("b", 2, OTHER)
        harness.place("c", 4, OTHER, "other")
        publish(harness, leader)
        assert harness.states(OF_ML) == {"a": BOUND, "b": BOUND}
        assert harness.states(OF_OTHER) == {"c": BOUND}
        assert (harness.ledger(OF_ML).avail, harness.ledger(OF_OTHER).avail) == ({OF_ML: 1}, {OF_OTHER: 2})

    def test_pool_of_a_namespace_stays_while_a_pod_waits(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        harness.place("a", 3, NODE)
        harness.cluster.create_pod("b")
        publish(harness, leader)
        harness.cluster.delete("a")
        publish(harness, leader)
        assert harness.ledger(OF_ML).avail == {OF_ML: 6}

    def test_deleted_pod_is_not_counted_if_a_new_pod_has_its_name(self) -> None:
        harness, leader = harness_of(LIMITED_SLOTS, NODE)
        harness.place("a", 3, NODE)
        publish(harness, leader)
        harness.cluster.delete("a")
        harness.cluster.create_pod("a", 2)
        publish(harness, leader)
        assert harness.ledger(OF_ML).avail == {OF_ML: 6}
        assert harness.states() == {}
