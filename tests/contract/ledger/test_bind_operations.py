"""bind's operations on the ledger of one owner, on every implementation of the port LedgerTable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome, new_ledger
from berth.ledger.nodes.table import LedgerTable
from tests.contract.ledger.ledgers import (
    EMPTY,
    GPU,
    LICENCE,
    NODE,
    entry,
    now,
    reserve,
)

DONE, INSUFFICIENT, ENTRY_DIFFERS = LedgerOutcome.DONE, LedgerOutcome.INSUFFICIENT, LedgerOutcome.ENTRY_DIFFERS
NO_LEDGER = LedgerOutcome.NO_LEDGER
BOUND = EntryState.BOUND


class TestReserve:
    def test_takes_amounts_from_every_pool_and_returns_the_written_ledger(self, ledger: Ledger) -> None:
        mine = entry(shares={GPU: 3000, LICENCE: 1})
        result = reserve(ledger, NODE, mine)
        assert result.outcome is DONE
        assert result.ledger == now(ledger)
        assert now(ledger).entries == {"uid-train-0": mine}
        assert now(ledger).avail == {GPU: 5000, LICENCE: 2}

    def test_takes_the_last_amount_of_a_pool(self, ledger: Ledger) -> None:
        assert reserve(ledger, NODE, entry(shares={LICENCE: 3})).done
        assert now(ledger).avail == {GPU: 8000}

    @pytest.mark.parametrize(
        "shares",
        [
            pytest.param({LICENCE: 4}, id="more than available"),
            pytest.param({LICENCE: 1, GPU: 8001}, id="enough in only one pool"),
            pytest.param({"example.com/other": 1}, id="unknown pool"),
        ],
    )
    def test_does_not_take_shares_if_one_pool_is_insufficient(self, ledger: Ledger, shares: Mapping[str, int]) -> None:
        result = reserve(ledger, NODE, entry(shares=shares))
        assert (result.outcome, result.ledger) == (INSUFFICIENT, EMPTY)
        assert now(ledger) == EMPTY

    def test_succeeds_when_repeated(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry())
        assert reserve(ledger, NODE, entry()).outcome is DONE
        assert now(ledger).avail == {GPU: 8000, LICENCE: 2}

    def test_returns_entry_differs_if_another_attempt_owns_the_entry(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry(attempt="a1"))
        result = reserve(ledger, NODE, entry(attempt="a2"))
        assert result.outcome is ENTRY_DIFFERS
        assert result.ledger is not None
        assert result.ledger.entries == {"uid-train-0": entry(attempt="a1")}
        assert now(ledger).avail == {GPU: 8000, LICENCE: 2}

    def test_returns_no_ledger_if_the_nodes_item_is_missing(self, table: LedgerTable) -> None:
        assert reserve(Ledger(table), NODE, entry()).outcome is NO_LEDGER
        assert table.nodes() == []

    def test_returns_no_ledger_during_a_rebuild(self, ledger: Ledger) -> None:
        ledger.table.begin_rebuild(NODE, 4)
        assert reserve(ledger, NODE, entry()).outcome is NO_LEDGER
        assert ledger.table.node(NODE) == replace(EMPTY, avail=None)


class TestTakeOver:
    def test_gives_entry_to_new_attempt(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry(attempt="a1"))
        assert reserve(ledger, NODE, entry(attempt="a2"), seen=entry(attempt="a1")).outcome is DONE
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a2")}
        assert now(ledger).avail == {GPU: 8000, LICENCE: 2}

    def test_adds_missing_amounts_and_keeps_existing_ones(self, ledger: Ledger) -> None:
        """A Binding of the old attempt may still bring the pod there with its shares."""
        old, new = entry(attempt="a1", shares={GPU: 3000}), entry(attempt="a2", shares={GPU: 2000, LICENCE: 2})
        reserve(ledger, NODE, old)
        assert reserve(ledger, NODE, new, seen=old).outcome is DONE
        assert now(ledger).entries["uid-train-0"].shares == {GPU: 3000, LICENCE: 2}
        assert now(ledger).avail == {GPU: 5000, LICENCE: 1}

    @pytest.mark.parametrize(
        "found",
        [
            pytest.param(None, id="the entry was released"),
            pytest.param(entry(attempt="a3"), id="a third attempt owns the entry"),
            pytest.param(entry(attempt="a1", state=BOUND), id="the entry is bound"),
        ],
    )
    def test_does_not_take_over_an_entry_that_differs(self, table: LedgerTable, found: Entry | None) -> None:
        entries = {} if found is None else {"uid-train-0": found}
        before = new_ledger(NODE, {LICENCE: 3}, entries, epoch=1)
        table.create(before)
        result = reserve(Ledger(table), NODE, entry(attempt="a2"), seen=entry(attempt="a1"))
        assert (result.outcome, result.ledger) == (ENTRY_DIFFERS, before)
        assert table.node(NODE) == before


class TestShrink:
    """bind: its Binding was created, so the pod needs nothing that an earlier attempt reserved."""

    BOTH = entry(attempt="a2", shares={GPU: 3000, LICENCE: 2})
    NEEDED = entry(attempt="a3", shares={GPU: 3000})

    def test_releases_surplus_under_new_attempt(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, self.BOTH)
        assert ledger.shrink(now(ledger), self.BOTH, self.NEEDED).outcome is DONE
        assert now(ledger).entries == {"uid-train-0": self.NEEDED}
        assert now(ledger).avail == {GPU: 5000, LICENCE: 3}

    def test_succeeds_when_repeated(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, self.BOTH)
        looked = now(ledger)
        for _ in range(2):
            assert ledger.shrink(looked, self.BOTH, self.NEEDED).outcome is DONE
        assert now(ledger).avail == {GPU: 5000, LICENCE: 3}

    def test_rejects_writes_based_on_the_entry_with_surplus(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, self.BOTH)
        ledger.shrink(now(ledger), self.BOTH, self.NEEDED)
        wider = entry(attempt="a4", shares={GPU: 3000, LICENCE: 3})
        assert reserve(ledger, NODE, wider, seen=self.BOTH).outcome is ENTRY_DIFFERS
        assert ledger.release(NODE, self.BOTH).outcome is ENTRY_DIFFERS
        assert now(ledger).entries == {"uid-train-0": self.NEEDED}

    @pytest.mark.parametrize(
        "found",
        [
            pytest.param(None, id="the entry was released"),
            pytest.param(entry(attempt="a4", shares={GPU: 3000, LICENCE: 2}), id="another attempt owns the entry"),
            pytest.param(entry(attempt="a2", shares={GPU: 3000, LICENCE: 2}, state=BOUND), id="the entry is bound"),
        ],
    )
    def test_release_does_not_change_other_entries(self, table: LedgerTable, found: Entry | None) -> None:
        entries = {} if found is None else {"uid-train-0": found}
        before = new_ledger(NODE, {GPU: 8000, LICENCE: 3}, entries, epoch=1)
        table.create(before)
        result = Ledger(table).shrink(before, self.BOTH, self.NEEDED)
        assert (result.outcome, result.ledger) == (ENTRY_DIFFERS, before)
        assert table.node(NODE) == before

    def test_reduces_owed_amount_first(self, table: LedgerTable) -> None:
        staying = entry("b", shares={LICENCE: 2})
        table.create(new_ledger(NODE, {GPU: 8000, LICENCE: 3}, {"uid-train-0": self.BOTH, "uid-b": staying}, epoch=1))
        ledger = Ledger(table)
        assert now(ledger).owed == {LICENCE: 1}
        assert ledger.shrink(now(ledger), self.BOTH, self.NEEDED).outcome is DONE
        assert (now(ledger).avail, now(ledger).owed) == ({GPU: 5000, LICENCE: 1}, {})


class TestRelease:
    def test_returns_amounts_to_their_pools(self, ledger: Ledger) -> None:
        mine = entry(shares={GPU: 3000, LICENCE: 3})
        reserve(ledger, NODE, mine)
        assert ledger.release(NODE, mine).outcome is DONE
        assert now(ledger) == EMPTY

    def test_release_succeeds_if_the_entry_does_not_exist(self, ledger: Ledger) -> None:
        assert ledger.release(NODE, entry()).outcome is DONE
        assert now(ledger) == EMPTY

    @pytest.mark.parametrize(
        "found",
        [
            pytest.param(entry(attempt="a2"), id="entry of another attempt"),
            pytest.param(entry(state=BOUND), id="bound"),
        ],
    )
    def test_rejects_release_when_entry_differs(self, table: LedgerTable, found: Entry) -> None:
        before = new_ledger(NODE, {LICENCE: 3}, {"uid-train-0": found}, epoch=1)
        table.create(before)
        assert Ledger(table).release(NODE, entry()).outcome is ENTRY_DIFFERS
        assert table.node(NODE) == before

    @pytest.mark.parametrize(
        ("capacity", "avail", "owed"),
        [
            pytest.param(1, {}, {LICENCE: 1}, id="less than the owed amount"),
            pytest.param(2, {}, {}, id="exactly the owed amount"),
            pytest.param(3, {LICENCE: 1}, {}, id="more than the owed amount"),
        ],
    )
    def test_reduces_owed_amount_first(
        self, table: LedgerTable, capacity: int, avail: Mapping[str, int], owed: Mapping[str, int]
    ) -> None:
        leaving, staying = entry("a", shares={LICENCE: 2}), entry("b", shares={LICENCE: 2})
        table.create(new_ledger(NODE, {LICENCE: capacity}, {"uid-a": leaving, "uid-b": staying}, epoch=1))
        ledger = Ledger(table)
        assert ledger.release(NODE, leaving).outcome is DONE
        assert (now(ledger).avail, now(ledger).owed) == (avail, owed)
