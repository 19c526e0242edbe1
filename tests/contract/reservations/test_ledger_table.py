"""The port LedgerTable, held by every implementation of it, and the ledger's operations on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, OpenReservation, PodKey
from berth.reservations.ledger.ledger import Ledger, LedgerOutcome, LedgerResult, new_ledger
from berth.reservations.ledger.table import LedgerTable, Marker, MarkerState, NotWritten, Written
from tests.unit.reservations.ledger.ledger_tables import ALL, ledger_table

AT = 1_800_000_000.5
NODE = "gpu-1.example.com"
GPU, LICENCE = "nvidia.com/gpumem#0", "example.com/licence"
EMPTY = new_ledger(NODE, {GPU: 8000, LICENCE: 3}, {}, epoch=4)

DONE, INSUFFICIENT, ENTRY_DIFFERS = LedgerOutcome.DONE, LedgerOutcome.INSUFFICIENT, LedgerOutcome.ENTRY_DIFFERS
NO_LEDGER, STALE_EPOCH = LedgerOutcome.NO_LEDGER, LedgerOutcome.STALE_EPOCH
RESERVED, BOUND = EntryState.RESERVED, EntryState.BOUND


@pytest.fixture(params=ALL)
def table(request: pytest.FixtureRequest) -> Iterator[LedgerTable]:
    with ledger_table(request.param, request) as table:
        yield table


@pytest.fixture
def ledger(table: LedgerTable) -> Ledger:
    """On a table that has one node: 8,000 of one pool and 3 of the other."""
    assert table.create(EMPTY) == Written(EMPTY)
    return Ledger(table)


def pod(name: str = "train-0") -> PodKey:
    return PodKey("ml", name, f"uid-{name}")


def entry(
    name: str = "train-0",
    attempt: str = "a1",
    shares: Mapping[str, int] | None = None,
    state: EntryState = RESERVED,
) -> Entry:
    return Entry(pod(name), state, attempt, {LICENCE: 1} if shares is None else shares, AT)


def open_reservation(name: str = "train-0", attempt: str = "a1", node: str = NODE) -> OpenReservation:
    return OpenReservation(pod(name), node, attempt, {LICENCE: 1, GPU: 3000}, AT)


def now(ledger: Ledger) -> NodeLedger:
    """The node's ledger, which adds up."""
    found = ledger.table.node(NODE)
    assert found is not None
    assert_adds_up(found)
    return found


def assert_adds_up(ledger: NodeLedger) -> None:
    pools = {*ledger.capacity, *(ledger.avail or {}), *ledger.owed}
    for pool in pools | {pool for each in ledger.entries.values() for pool in each.shares}:
        avail, owed = (ledger.avail or {}).get(pool, 0), ledger.owed.get(pool, 0)
        assert avail >= 0
        assert owed >= 0
        assert avail * owed == 0
        assert avail - owed + ledger.allocated(pool) == ledger.capacity.get(pool, 0)


class TestReserve:
    def test_takes_from_every_pool_and_returns_written_ledger(self, ledger: Ledger) -> None:
        mine = entry(shares={GPU: 3000, LICENCE: 1})
        result = ledger.reserve(NODE, mine)
        assert result.outcome is DONE
        assert result.ledger == now(ledger)
        assert now(ledger).entries == {"uid-train-0": mine}
        assert now(ledger).avail == {GPU: 5000, LICENCE: 2}

    def test_takes_last_amount_of_pool(self, ledger: Ledger) -> None:
        assert ledger.reserve(NODE, entry(shares={LICENCE: 3})).done
        assert now(ledger).avail == {GPU: 8000}

    @pytest.mark.parametrize(
        "shares",
        [
            pytest.param({LICENCE: 4}, id="more than there is"),
            pytest.param({LICENCE: 1, GPU: 8001}, id="enough of one pool only"),
            pytest.param({"example.com/other": 1}, id="a pool that the node does not have"),
        ],
    )
    def test_takes_nothing_when_a_pool_is_insufficient(self, ledger: Ledger, shares: Mapping[str, int]) -> None:
        result = ledger.reserve(NODE, entry(shares=shares))
        assert (result.outcome, result.ledger) == (INSUFFICIENT, EMPTY)
        assert now(ledger) == EMPTY

    def test_succeeds_when_repeated(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry())
        assert ledger.reserve(NODE, entry()).outcome is DONE
        assert now(ledger).avail == {GPU: 8000, LICENCE: 2}

    def test_answers_entry_differs_when_another_attempt_has_entry(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(attempt="a1"))
        result = ledger.reserve(NODE, entry(attempt="a2"))
        assert result.outcome is ENTRY_DIFFERS
        assert result.entry("uid-train-0") == entry(attempt="a1")
        assert now(ledger).avail == {GPU: 8000, LICENCE: 2}

    def test_answers_no_ledger_when_node_has_no_item(self, table: LedgerTable) -> None:
        assert Ledger(table).reserve(NODE, entry()) == LedgerResult(NO_LEDGER, None)

    def test_answers_no_ledger_while_rebuilding(self, ledger: Ledger) -> None:
        ledger.table.begin_rebuild(NODE, 4)
        assert ledger.reserve(NODE, entry()).outcome is NO_LEDGER
        assert ledger.table.node(NODE) == replace(EMPTY, avail=None)


class TestTakeOver:
    def test_gives_entry_to_new_attempt(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(attempt="a1"))
        assert ledger.take_over(NODE, entry(attempt="a1"), entry(attempt="a2")).outcome is DONE
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a2")}
        assert now(ledger).avail == {GPU: 8000, LICENCE: 2}

    def test_rejects_release_by_earlier_attempt(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(attempt="a1"))
        ledger.take_over(NODE, entry(attempt="a1"), entry(attempt="a2"))
        assert ledger.release(NODE, entry(attempt="a1")).outcome is ENTRY_DIFFERS
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a2")}

    def test_adds_missing_amounts_and_keeps_others(self, ledger: Ledger) -> None:
        """A Binding of the old attempt may still bring the pod there with its shares."""
        old, new = entry(attempt="a1", shares={GPU: 3000}), entry(attempt="a2", shares={GPU: 2000, LICENCE: 2})
        ledger.reserve(NODE, old)
        assert ledger.take_over(NODE, old, new).outcome is DONE
        assert now(ledger).entries["uid-train-0"].shares == {GPU: 3000, LICENCE: 2}
        assert now(ledger).avail == {GPU: 5000, LICENCE: 1}

    def test_leaves_entry_to_earlier_attempt_when_insufficient(self, ledger: Ledger) -> None:
        old = entry(attempt="a1", shares={LICENCE: 2})
        ledger.reserve(NODE, old)
        assert ledger.take_over(NODE, old, entry(attempt="a2", shares={LICENCE: 4})).outcome is INSUFFICIENT
        assert now(ledger).entries == {"uid-train-0": old}

    def test_succeeds_when_repeated(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(attempt="a1"))
        for _ in range(2):
            assert ledger.take_over(NODE, entry(attempt="a1"), entry(attempt="a2")).outcome is DONE

    @pytest.mark.parametrize(
        "found",
        [
            pytest.param(None, id="it is gone"),
            pytest.param(entry(attempt="a3"), id="a third has it"),
            pytest.param(entry(attempt="a1", state=BOUND), id="it is bound"),
        ],
    )
    def test_takes_over_no_other_entry(self, table: LedgerTable, found: Entry | None) -> None:
        entries = {} if found is None else {"uid-train-0": found}
        before = new_ledger(NODE, {LICENCE: 3}, entries, epoch=1)
        table.create(before)
        result = Ledger(table).take_over(NODE, entry(attempt="a1"), entry(attempt="a2"))
        assert (result.outcome, result.ledger) == (ENTRY_DIFFERS, before)
        assert table.node(NODE) == before


class TestRelease:
    def test_returns_amounts_to_pools(self, ledger: Ledger) -> None:
        mine = entry(shares={GPU: 3000, LICENCE: 3})
        ledger.reserve(NODE, mine)
        assert ledger.release(NODE, mine).outcome is DONE
        assert now(ledger) == EMPTY

    def test_succeeds_when_entry_is_gone(self, ledger: Ledger) -> None:
        assert ledger.release(NODE, entry()).outcome is DONE
        assert now(ledger) == EMPTY

    @pytest.mark.parametrize(
        "found",
        [pytest.param(entry(attempt="a2"), id="another attempt's"), pytest.param(entry(state=BOUND), id="bound")],
    )
    def test_rejects_release_when_entry_differs(self, table: LedgerTable, found: Entry) -> None:
        before = new_ledger(NODE, {LICENCE: 3}, {"uid-train-0": found}, epoch=1)
        table.create(before)
        assert Ledger(table).release(NODE, entry()).outcome is ENTRY_DIFFERS
        assert table.node(NODE) == before

    @pytest.mark.parametrize(
        ("capacity", "avail", "owed"),
        [
            pytest.param(1, {}, {LICENCE: 1}, id="less than is owed"),
            pytest.param(2, {}, {}, id="as much as is owed"),
            pytest.param(3, {LICENCE: 1}, {}, id="more than is owed"),
        ],
    )
    def test_reduces_owed_first(
        self, table: LedgerTable, capacity: int, avail: Mapping[str, int], owed: Mapping[str, int]
    ) -> None:
        leaving, staying = entry("a", shares={LICENCE: 2}), entry("b", shares={LICENCE: 2})
        table.create(new_ledger(NODE, {LICENCE: capacity}, {"uid-a": leaving, "uid-b": staying}, epoch=1))
        ledger = Ledger(table)
        assert ledger.release(NODE, leaving).outcome is DONE
        assert (now(ledger).avail, now(ledger).owed) == (avail, owed)


class TestPutBound:
    """The watcher: a pod was seen on the node."""

    def test_confirms_reservation(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(attempt="a1"))
        result = ledger.put_bound(now(ledger), entry(attempt="w1", state=BOUND), epoch=5)
        assert result.outcome is DONE
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a1", state=BOUND)}
        assert now(ledger).epoch == 5

    def test_confirms_when_ledger_changed_since_read(self, ledger: Ledger) -> None:
        looked = now(ledger)
        ledger.reserve(NODE, entry(attempt="a1"))
        ledger.take_over(NODE, entry(attempt="a1"), entry(attempt="a2"))
        assert ledger.put_bound(looked, entry(attempt="w1", state=BOUND), epoch=5).outcome is DONE
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a2", state=BOUND)}

    def test_corrects_amounts_that_differ(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(shares={GPU: 3000, LICENCE: 1}))
        ledger.put_bound(now(ledger), entry(shares={GPU: 2000, LICENCE: 2}, state=BOUND), epoch=4)
        assert now(ledger).avail == {GPU: 6000, LICENCE: 1}

    def test_adopts_pod_of_other_scheduler_and_owes_what_exceeds_capacity(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry("a", shares={LICENCE: 2}))
        adopted = entry("b", attempt="w1", shares={LICENCE: 4}, state=BOUND)
        assert ledger.put_bound(now(ledger), adopted, epoch=4).outcome is DONE
        assert now(ledger).entries["uid-b"] == adopted
        assert (now(ledger).avail, now(ledger).owed) == ({GPU: 8000}, {LICENCE: 3})

    def test_changes_nothing_when_repeated(self, ledger: Ledger) -> None:
        bound = entry(state=BOUND)
        ledger.put_bound(now(ledger), bound, epoch=4)
        before = now(ledger)
        assert ledger.put_bound(EMPTY, bound, epoch=4).outcome is DONE
        assert now(ledger) == before


class TestResize:
    """The watcher: the node's capacity is another."""

    @pytest.mark.parametrize(
        ("capacity", "avail", "owed"),
        [
            pytest.param({GPU: 8000, LICENCE: 5}, {GPU: 8000, LICENCE: 3}, {}, id="grown"),
            pytest.param({GPU: 8000, LICENCE: 2}, {GPU: 8000}, {}, id="shrunk to what is held"),
            pytest.param({GPU: 8000, LICENCE: 1}, {GPU: 8000}, {LICENCE: 1}, id="shrunk below what is held"),
            pytest.param({GPU: 8000}, {GPU: 8000}, {LICENCE: 2}, id="a pool has gone that is in use"),
            pytest.param({LICENCE: 3}, {LICENCE: 1}, {}, id="a pool has gone that is not"),
            pytest.param(
                {GPU: 8000, LICENCE: 3, "x.example/y": 7},
                {GPU: 8000, LICENCE: 1, "x.example/y": 7},
                {},
                id="a new pool",
            ),
        ],
    )
    def test_changes_capacity_by_delta(
        self, ledger: Ledger, capacity: Mapping[str, int], avail: Mapping[str, int], owed: Mapping[str, int]
    ) -> None:
        looked = now(ledger)
        ledger.reserve(NODE, entry(shares={LICENCE: 2}))
        for _ in range(2):
            assert ledger.resize(looked, capacity, epoch=4).outcome is DONE
        assert (now(ledger).capacity, now(ledger).avail, now(ledger).owed) == (capacity, avail, owed)

    def test_reduces_owed_first_when_capacity_grows(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry(shares={LICENCE: 3}))
        ledger.resize(now(ledger), {GPU: 8000, LICENCE: 1}, epoch=4)
        ledger.resize(now(ledger), {GPU: 8000, LICENCE: 4}, epoch=4)
        assert (now(ledger).avail, now(ledger).owed) == ({GPU: 8000, LICENCE: 1}, {})


class TestFencing:
    """A deposed watcher changes nothing that its successor has written."""

    def test_rejects_updates_when_epoch_is_stale(self, ledger: Ledger) -> None:
        mine = entry()
        ledger.reserve(NODE, mine)
        looked = now(ledger)
        ledger.put_bound(looked, entry("other", state=BOUND), epoch=9)
        before = now(ledger)
        assert ledger.put_bound(looked, replace(mine, state=BOUND), epoch=8).outcome is STALE_EPOCH
        assert ledger.resize(looked, {LICENCE: 9}, epoch=8).outcome is STALE_EPOCH
        assert ledger.release(NODE, mine, epoch=8).outcome is STALE_EPOCH
        assert now(ledger) == before

    def test_rejects_rebuild_and_delete_when_epoch_is_stale(self, ledger: Ledger) -> None:
        assert ledger.table.begin_rebuild(NODE, 3) == NotWritten(EMPTY)
        assert ledger.table.delete_if_empty(NODE, 3) == NotWritten(EMPTY)
        assert now(ledger) == EMPTY

    def test_lets_bind_write_at_any_epoch(self, ledger: Ledger) -> None:
        ledger.reserve(NODE, entry())
        ledger.release(NODE, entry())
        assert now(ledger).epoch == 4


class TestItems:
    def test_reads_ledger_as_created(self, table: LedgerTable) -> None:
        full = new_ledger(
            NODE, {GPU: 8000, LICENCE: 1}, {"uid-a": entry("a", shares={GPU: 1, LICENCE: 2}, state=BOUND)}, epoch=3
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
        """Were there one for all, who gives up would delete the trace of who goes on."""
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

    def test_marks_open_reservation_for_release(self, table: LedgerTable) -> None:
        there, absent = open_reservation("a", attempt="a1"), open_reservation("b", attempt="b1")
        table.put_open(there)
        table.request_release(replace(there, shares={LICENCE: 2}))
        table.request_release(absent)
        assert table.open_reservations() == [
            replace(there, release_requested=True),
            replace(absent, release_requested=True),
        ]


class TestMarker:
    READY = Marker(MarkerState.READY, 3, AT, "n1")
    REBUILDING = Marker(MarkerState.REBUILDING, 4, AT + 1, "n2")

    def test_has_no_marker_when_table_is_new(self, table: LedgerTable) -> None:
        assert table.marker() is None

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
