"""The port LedgerTable, held by every implementation of it."""

from __future__ import annotations

from dataclasses import replace

from berth.ledger.nodes.entry import EntryState
from berth.ledger.nodes.ledger import Ledger, new_ledger
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState, NotWritten, Written
from tests.contract.ledger.ledgers import AT, EMPTY, GPU, LICENCE, NODE, assert_adds_up, entry, now, open_reservation


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

    def test_finishes_rebuild_when_epoch_is_not_later(self, table: LedgerTable) -> None:
        table.create(EMPTY)
        rebuilding = replace(EMPTY, avail=None, epoch=5)
        assert table.begin_rebuild(NODE, 5) == Written(rebuilding)
        assert table.create(replace(EMPTY, epoch=5)) == NotWritten(rebuilding)
        assert table.finish_rebuild(replace(EMPTY, epoch=4)) == NotWritten(rebuilding)
        assert table.finish_rebuild(replace(EMPTY, epoch=5)) == Written(replace(EMPTY, epoch=5))
        assert table.finish_rebuild(replace(EMPTY, node="other")) == Written(replace(EMPTY, node="other"))

    def test_deletes_ledger_without_entries(self, table: LedgerTable) -> None:
        table.create(EMPTY)
        assert table.delete_if_empty(NODE, 4) == Written(EMPTY)
        assert table.node(NODE) is None
        assert table.delete_if_empty(NODE, 4) == NotWritten(None)

    def test_rejects_delete_when_ledger_has_entries(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry())
        assert ledger.table.delete_if_empty(NODE, 4) == NotWritten(now(ledger))

    def test_rejects_begin_rebuild_when_node_has_no_item(self, table: LedgerTable) -> None:
        assert table.begin_rebuild(NODE, 4) == NotWritten(None)

    def test_lists_ledgers_by_name(self, table: LedgerTable) -> None:
        for name in ("b", "c", "a"):
            table.create(replace(EMPTY, node=name))
        table.put_open(open_reservation())
        assert [each.node for each in table.nodes()] == ["a", "b", "c"]


class TestOpenReservations:
    def test_keeps_one_item_for_each_attempt(self, table: LedgerTable) -> None:
        """With one item for all attempts, an attempt that gives up would delete the trace of another one."""
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

    def test_reads_all_pages(self, table: LedgerTable) -> None:
        """A page of a Query ends at 1 MB."""
        wide = {f"example.com/{'long-name-' * 30}{number}": number + 1 for number in range(50)}
        for number in range(80):
            table.put_open(replace(open_reservation(f"p{number:02}"), shares=wide))
        assert [each.pod.name for each in table.open_reservations()] == [f"p{number:02}" for number in range(80)]


class TestMarker:
    READY = Marker(MarkerState.READY, 3, AT, "n1")
    REBUILDING = Marker(MarkerState.REBUILDING, 4, AT + 1, "n2")

    def test_has_no_marker_when_table_is_new(self, table: LedgerTable) -> None:
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
