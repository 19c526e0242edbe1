"""The watcher's operations on a node's ledger, on every implementation of the port LedgerTable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from berth.ledger.nodes.entry import EntryState
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome
from berth.ledger.nodes.table import NotWritten
from tests.contract.ledger.ledgers import EMPTY, GPU, LICENCE, NODE, entry, now, reserve

DONE = LedgerOutcome.DONE
STALE_EPOCH = LedgerOutcome.STALE_EPOCH
BOUND = EntryState.BOUND


class TestPutBound:
    """The watcher records a pod that it has seen on the node."""

    def test_confirms_a_reservation_as_bound(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry(attempt="a1"))
        result = ledger.put_bound(now(ledger), entry(attempt="w1", state=BOUND), epoch=5)
        assert result.outcome is DONE
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a1", state=BOUND)}
        assert now(ledger).epoch == 5

    def test_confirms_reservation_if_the_ledger_changed_since_the_read(self, ledger: Ledger) -> None:
        looked = now(ledger)
        reserve(ledger, NODE, entry(attempt="a1"))
        reserve(ledger, NODE, entry(attempt="a2"), seen=entry(attempt="a1"))
        assert ledger.put_bound(looked, entry(attempt="w1", state=BOUND), epoch=5).outcome is DONE
        assert now(ledger).entries == {"uid-train-0": entry(attempt="a2", state=BOUND)}

    def test_put_bound_corrects_different_amounts(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry(shares={GPU: 3000, LICENCE: 1}))
        ledger.put_bound(now(ledger), entry(shares={GPU: 2000, LICENCE: 2}, state=BOUND), epoch=4)
        assert now(ledger).avail == {GPU: 6000, LICENCE: 1}

    def test_adopts_a_pod_of_another_scheduler_and_owes_the_amount_above_capacity(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry("a", shares={LICENCE: 2}))
        adopted = entry("b", attempt="w1", shares={LICENCE: 4}, state=BOUND)
        assert ledger.put_bound(now(ledger), adopted, epoch=4).outcome is DONE
        assert now(ledger).entries["uid-b"] == adopted
        assert (now(ledger).avail, now(ledger).owed) == ({GPU: 8000}, {LICENCE: 3})

    def test_repeated_put_bound_does_not_change_the_ledger(self, ledger: Ledger) -> None:
        bound = entry(state=BOUND)
        ledger.put_bound(now(ledger), bound, epoch=4)
        before = now(ledger)
        assert ledger.put_bound(EMPTY, bound, epoch=4).outcome is DONE
        assert now(ledger) == before


class TestResize:
    """The watcher records a changed capacity of the node."""

    @pytest.mark.parametrize(
        ("capacity", "avail", "owed"),
        [
            pytest.param({GPU: 8000, LICENCE: 5}, {GPU: 8000, LICENCE: 3}, {}, id="grown"),
            pytest.param({GPU: 8000, LICENCE: 2}, {GPU: 8000}, {}, id="shrunk to the held amount"),
            pytest.param({GPU: 8000, LICENCE: 1}, {GPU: 8000}, {LICENCE: 1}, id="shrunk below the held amount"),
            pytest.param({GPU: 8000}, {GPU: 8000}, {LICENCE: 2}, id="a used pool was removed"),
            pytest.param({LICENCE: 3}, {LICENCE: 1}, {}, id="an unused pool was removed"),
            pytest.param(
                {GPU: 8000, LICENCE: 3, "x.example/y": 7},
                {GPU: 8000, LICENCE: 1, "x.example/y": 7},
                {},
                id="a new pool",
            ),
        ],
    )
    def test_new_capacity_changes_the_available_or_owed_amount_by_the_difference(
        self, ledger: Ledger, capacity: Mapping[str, int], avail: Mapping[str, int], owed: Mapping[str, int]
    ) -> None:
        looked = now(ledger)
        reserve(ledger, NODE, entry(shares={LICENCE: 2}))
        for _ in range(2):
            assert ledger.resize(looked, capacity, epoch=4).outcome is DONE
        assert (now(ledger).capacity, now(ledger).avail, now(ledger).owed) == (capacity, avail, owed)

    def test_reduces_owed_amount_first_when_capacity_grows(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry(shares={LICENCE: 3}))
        ledger.resize(now(ledger), {GPU: 8000, LICENCE: 1}, epoch=4)
        ledger.resize(now(ledger), {GPU: 8000, LICENCE: 4}, epoch=4)
        assert (now(ledger).avail, now(ledger).owed) == ({GPU: 8000, LICENCE: 1}, {})


class TestFencing:
    """A deposed watcher does not change anything that its successor has written."""

    def test_rejects_updates_when_epoch_is_stale(self, ledger: Ledger) -> None:
        mine = entry()
        reserve(ledger, NODE, mine)
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

    def test_bind_writes_without_an_epoch_and_keeps_the_epoch_of_the_ledger(self, ledger: Ledger) -> None:
        reserve(ledger, NODE, entry())
        ledger.release(NODE, entry())
        assert now(ledger).epoch == 4
