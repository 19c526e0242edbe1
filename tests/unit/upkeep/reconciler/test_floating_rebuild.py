"""The rebuild of the ledgers of floating pools."""

from __future__ import annotations

import pytest

from berth.ledger.nodes.entry import NodeLedger
from berth.ledger.nodes.table import Marker, MarkerState
from berth.scheduling.managed_resources.counting import Counting
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import FLOATING_SLOTS, REQUEST, SLOT, SLOTS_AND_FLOATING_SEATS
from tests.unit.upkeep.reconciler.floating_harness import (
    BOUND,
    EXPIRY,
    SEATS,
    SLOTS,
    CheckedTable,
    bind,
    harness_of,
    kinds,
    led,
    owners,
    publish,
    reserved,
)
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

# -------------------------------------------------------------------------------------------------------------- rebuild


def lose_entries(harness: ReconcilerHarness, owner: str) -> None:
    """Replace the ledger with a ledger without entries that is being rebuilt."""
    table = harness.table
    assert isinstance(table, InMemoryLedgerTable)
    table._nodes[owner] = NodeLedger(owner, avail=None, epoch=table._nodes[owner].epoch)


def rebuild(harness: ReconcilerHarness, leader: Reconciler) -> None:
    for _ in range(5):
        harness.publish(leader, seconds=HTTP_TIMEOUT)


class TestRebuild:
    def test_restores_node_and_pools_of_a_lost_table_from_the_pods(self) -> None:
        harness = ReconcilerHarness(counting=SLOTS_AND_FLOATING_SEATS, ready=False, table=CheckedTable())
        harness.node(8)
        harness.place("a", 3, NODE)
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
        """rebuilt: the ledgers to rebuild; all of them if it is empty."""
        harness, leader = harness_of(SLOTS_AND_FLOATING_SEATS, NODE)
        bind(harness, leader, "runs", NODE, 1)
        reserved(harness, leader, "a", 2)
        for owner in rebuilt:
            harness.table.begin_rebuild(owner, harness.ledger(owner).epoch)
        if not rebuilt:
            marker = Marker(MarkerState.REBUILDING, 0, 0, "asked")
            assert harness.table.put_marker(marker, harness.table.marker())
        leader = harness.lead(seconds=1)
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
        harness.publish(leader, seconds=1)
        harness.table.begin_rebuild(SEATS, harness.ledger(SEATS).epoch)
        rebuild(harness, led(harness))
        assert harness.ledger(SEATS).avail == {SEATS: 2}

    @pytest.mark.parametrize("counting", kinds("zones", "limit"))
    def test_restores_pools_of_labels_and_namespaces(self, counting: Counting) -> None:
        harness, leader = harness_of(counting, NODE)
        harness.cluster.zones[NODE] = "b"
        harness.place("a", 3, NODE)
        publish(harness, leader)
        [pool] = set(owners(harness)) - {NODE}
        before = harness.ledger(pool).avail
        harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
        harness.run(leader, 3)
        assert harness.ledger(pool).avail is None
        rebuild(harness, leader)
        assert harness.states(pool) == {"a": BOUND}
        assert harness.ledger(pool).avail == before == {pool: 3}
