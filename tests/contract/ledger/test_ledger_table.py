"""Contract of the port LedgerTable, on every implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from berth.ledger.nodes.entry import EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger, new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, PoolChange
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState, NotWritten, Written
from berth.scheduling.managed_resources.configuration import MAX_RESOURCES
from berth.scheduling.managed_resources.pools import cluster_pool, namespace_pool
from tests.contract.ledger.ledgers import (
    AT,
    EMPTY,
    EMPTY_SEATS,
    GPU,
    LICENCE,
    NODE,
    SEATS,
    assert_adds_up,
    entry,
    now,
    open_reservation,
    pod,
    reserve,
)


class TestItems:
    def test_reads_the_ledger_as_created(self, table: LedgerTable) -> None:
        full = new_ledger(
            NODE,
            {GPU: 8000, LICENCE: 1},
            {"uid-a": entry("a", shares={GPU: 1, LICENCE: 2}, state=EntryState.BOUND)},
            epoch=3,
        )
        assert table.create(full) == Written(full)
        assert table.node(NODE) == full
        assert_adds_up(full)

    def test_rejects_create_when_item_exists(self, table: LedgerTable) -> None:
        table.create(EMPTY)
        assert table.create(replace(EMPTY, epoch=9)) == NotWritten(EMPTY)
        assert table.finish_rebuild(replace(EMPTY, epoch=9)) == NotWritten(EMPTY)

    def test_finishes_a_rebuild_unless_the_ledger_has_a_later_epoch(self, table: LedgerTable) -> None:
        table.create(EMPTY)
        rebuilding = replace(EMPTY, avail=None, epoch=5)
        assert table.begin_rebuild(NODE, 5) == Written(rebuilding)
        assert table.create(replace(EMPTY, epoch=5)) == NotWritten(rebuilding)
        assert table.finish_rebuild(replace(EMPTY, epoch=4)) == NotWritten(rebuilding)
        assert table.finish_rebuild(replace(EMPTY, epoch=5)) == Written(replace(EMPTY, epoch=5))
        assert table.finish_rebuild(replace(EMPTY, owner="other")) == Written(replace(EMPTY, owner="other"))

    def test_deletes_ledger_without_entries(self, table: LedgerTable) -> None:
        table.create(EMPTY)
        assert table.delete_if_empty(NODE, 4) == Written(EMPTY)
        assert table.node(NODE) is None
        assert table.delete_if_empty(NODE, 4) == NotWritten(None)

    def test_rejects_delete_when_ledger_has_entries(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry())
        assert ledger.table.delete_if_empty(NODE, 4) == NotWritten(now(ledger))

    def test_does_not_begin_a_rebuild_if_the_nodes_item_is_missing(self, table: LedgerTable) -> None:
        assert table.begin_rebuild(NODE, 4) == NotWritten(None)

    def test_lists_ledgers_by_name(self, table: LedgerTable) -> None:
        for name in ("b", "c", "a"):
            table.create(replace(EMPTY, owner=name))
        table.put_open(open_reservation())
        assert [each.owner for each in table.nodes()] == ["a", "b", "c"]


def taking(name: str, pool: str, amount: int, epoch: int | None = None) -> NodeWrite:
    """Return the write that adds an entry with this amount of one pool."""
    added = EntryChange(f"uid-{name}", None, entry(name, shares={pool: amount}))
    return NodeWrite((added,), {pool: PoolChange(avail=-amount, min_avail=amount)}, epoch)


BOTH = {NODE: taking("a", LICENCE, 1), SEATS: taking("a", SEATS, 2)}


class TestWriteTogether:
    """Writes to the items of several owners."""

    def test_transaction_writes_every_item(self, several: Ledger) -> None:
        assert several.table.write_together(BOTH) is None
        assert now(several) == BOTH[NODE].applied_to(EMPTY)
        assert now(several, SEATS) == BOTH[SEATS].applied_to(EMPTY_SEATS)

    @pytest.mark.parametrize(
        ("prepare", "writes", "failed"),
        [
            pytest.param(
                lambda table: None, {**BOTH, SEATS: taking("a", SEATS, 3)}, (SEATS,), id="a pool has too little left"
            ),
            pytest.param(
                lambda table: None, {**BOTH, NODE: taking("a", LICENCE, 4)}, (NODE,), id="the node has too little left"
            ),
            pytest.param(
                lambda table: None,
                {NODE: taking("a", LICENCE, 4), SEATS: taking("a", SEATS, 3)},
                (NODE, SEATS),
                id="both have too little left",
            ),
            pytest.param(lambda table: table.delete_if_empty(SEATS, 4), BOTH, (SEATS,), id="an owner has no item"),
            pytest.param(lambda table: table.begin_rebuild(SEATS, 4), BOTH, (SEATS,), id="a ledger is being rebuilt"),
            pytest.param(
                lambda table: table.write(SEATS, taking("a", SEATS, 1)), BOTH, (SEATS,), id="the pod has an entry"
            ),
            pytest.param(
                lambda table: None,
                {**BOTH, NODE: taking("a", LICENCE, 1, epoch=3)},
                (NODE,),
                id="a watcher of a later epoch has written",
            ),
        ],
    )
    def test_does_not_write_any_item_if_one_condition_is_not_met(
        self,
        several: Ledger,
        prepare: Callable[[LedgerTable], object],
        writes: Mapping[str, NodeWrite],
        failed: tuple[str, ...],
    ) -> None:
        prepare(several.table)
        before = several.table.nodes()
        assert several.table.write_together(writes) == failed
        assert several.table.nodes() == before

    def test_writes_the_open_reservation_with_the_items(self, several: Ledger) -> None:
        opened = OpenReservation(pod("a"), NODE, "a1", {LICENCE: 1, SEATS: 2}, AT)
        assert several.table.write_together(BOTH, opened) is None
        assert several.table.open_reservations() == [opened]
        assert now(several, SEATS) == BOTH[SEATS].applied_to(EMPTY_SEATS)

    def test_does_not_write_the_open_reservation_if_one_condition_is_not_met(self, several: Ledger) -> None:
        opened = OpenReservation(pod("a"), NODE, "a1", {LICENCE: 1, SEATS: 3}, AT)
        assert several.table.write_together({**BOTH, SEATS: taking("a", SEATS, 3)}, opened) == (SEATS,)
        assert several.table.open_reservations() == []

    def test_transaction_deletes_and_changes_entries(self, several: Ledger) -> None:
        several.table.write_together(BOTH)
        seen = {NODE: entry("a", shares={LICENCE: 1}), SEATS: entry("a", shares={SEATS: 2})}
        taken = replace(seen[SEATS], attempt="a2")
        writes = {
            NODE: NodeWrite((EntryChange("uid-a", seen[NODE], None),), {LICENCE: PoolChange(avail=1)}),
            SEATS: NodeWrite((EntryChange("uid-a", seen[SEATS], taken),)),
        }
        assert several.table.write_together(writes) is None
        assert now(several) == EMPTY
        assert now(several, SEATS).entries == {"uid-a": taken}

    def test_writes_the_largest_number_of_owners_of_a_pod(self, table: LedgerTable) -> None:
        resources = [f"example.com/r{number}" for number in range(MAX_RESOURCES)]
        pools = [*map(cluster_pool, resources), *(namespace_pool(each, "ml") for each in resources)]
        for pool in pools:
            table.create(new_ledger(pool, {pool: 1}, {}, epoch=1))
        opened = OpenReservation(pod("a"), NODE, "a1", dict.fromkeys(pools, 1), AT)
        assert table.write_together({pool: taking("a", pool, 1) for pool in pools}, opened) is None
        assert all(each.avail == {} and each.entries for each in table.nodes())
        assert len(table.nodes()) == len(pools)


class TestOpenReservations:
    def test_keeps_one_item_for_each_attempt(self, table: LedgerTable) -> None:
        """With one item for all attempts, an attempt that gives up would delete the record of another attempt."""
        for attempt in ("a1", "a2"):
            table.put_open(open_reservation(attempt=attempt))
        table.delete_open("uid-train-0", NODE, "a1")
        assert table.open_reservations() == [open_reservation(attempt="a2")]

    def test_succeeds_when_open_reservation_is_gone(self, table: LedgerTable) -> None:
        table.delete_open("uid-train-0", NODE, "a1")
        assert table.open_reservations() == []

    def test_keeps_one_item_for_each_pod_and_node(self, table: LedgerTable) -> None:
        all_open = [open_reservation("a", node="n1"), open_reservation("a", node="n2"), open_reservation("b")]
        for each in all_open:
            table.put_open(each)
        assert table.open_reservations() == all_open

    def test_reads_open_reservations_of_every_page(self, table: LedgerTable) -> None:
        """A page of a Query ends at 1 MB."""
        wide = {f"example.com/{'long-name-' * 30}{number}": number + 1 for number in range(50)}
        for number in range(80):
            table.put_open(replace(open_reservation(f"p{number:02}"), shares=wide))
        assert [each.pod.name for each in table.open_reservations()] == [f"p{number:02}" for number in range(80)]


class TestMarker:
    READY = Marker(MarkerState.READY, 3, AT, "n1")
    REBUILDING = Marker(MarkerState.REBUILDING, 4, AT + 1, "n2")

    def test_new_table_is_without_a_marker(self, table: LedgerTable) -> None:
        assert table.marker() is None
        assert table.marker_eventually() is None

    def test_eventually_consistent_read_returns_marker_as_written(self, table: LedgerTable) -> None:
        table.put_marker(self.READY, None)
        assert table.marker_eventually() == self.READY

    def test_replaces_marker_when_nonce_matches(self, table: LedgerTable) -> None:
        assert table.put_marker(self.READY, None)
        assert table.put_marker(self.REBUILDING, self.READY)
        assert table.marker() == self.REBUILDING

    def test_succeeds_when_repeated(self, table: LedgerTable) -> None:
        assert table.put_marker(self.READY, None)
        assert table.put_marker(self.READY, None)

    def test_keeps_marker_when_nonce_differs(self, table: LedgerTable) -> None:
        table.put_marker(self.REBUILDING, None)
        assert not table.put_marker(self.READY, None)
        assert not table.put_marker(replace(self.READY, nonce="n4"), self.READY)
        assert table.marker() == self.REBUILDING
