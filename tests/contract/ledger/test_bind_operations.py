"""bind's operations on the ledgers of one and of several owners, on every implementation of the port LedgerTable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import TRIES, Ledger, LedgerOutcome, new_ledger
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import LedgerTable
from tests.contract.ledger.ledgers import (
    CONNECTIONS,
    EMPTY,
    EMPTY_CONNECTIONS,
    EMPTY_SEATS,
    GPU,
    LICENCE,
    NODE,
    SEATS,
    entry,
    now,
    reserve,
)

DONE, INSUFFICIENT, ENTRY_DIFFERS = LedgerOutcome.DONE, LedgerOutcome.INSUFFICIENT, LedgerOutcome.ENTRY_DIFFERS
NO_LEDGER = LedgerOutcome.NO_LEDGER
UID = "uid-train-0"
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
        """A Binding of the old attempt may still place the pod on this node with the old shares."""
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
    """After its Binding is created, bind releases amounts that only an earlier attempt needed."""

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
    def test_does_not_shrink_an_entry_that_differs(self, table: LedgerTable, found: Entry | None) -> None:
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


def entries(attempt: str = "a1", name: str = "train-0", **amounts: int) -> dict[str, Entry]:
    """Return the entries of an attempt, by owner: by default for an amount of 1 from each pool."""
    pools = {"licences": (NODE, LICENCE), "seats": (SEATS, SEATS), "connections": (CONNECTIONS, CONNECTIONS)}
    wanted = amounts or dict.fromkeys(pools, 1)
    return {pools[key][0]: entry(name, attempt, {pools[key][1]: amount}) for key, amount in wanted.items()}


class TestReserveAtSeveralOwners:
    def test_takes_amounts_at_every_owner(self, several: Ledger) -> None:
        wanted = entries(licences=1, seats=2, connections=3)
        result = several.reserve(wanted, {})
        assert result.outcome is DONE
        assert result.entries(UID) == wanted
        assert {owner: now(several, owner).entries for owner in wanted} == {
            owner: {UID: each} for owner, each in wanted.items()
        }
        assert now(several).avail == {GPU: 8000, LICENCE: 2}
        assert (now(several, SEATS).avail, now(several, CONNECTIONS).avail) == ({}, {CONNECTIONS: 7})

    @pytest.mark.parametrize(
        ("wanted", "prepare", "outcome"),
        [
            pytest.param(entries(licences=1, seats=3), None, INSUFFICIENT, id="a floating pool is insufficient"),
            pytest.param(entries(licences=4, seats=1), None, INSUFFICIENT, id="the node is insufficient"),
            pytest.param(
                entries(), lambda table: table.delete_if_empty(CONNECTIONS, 4), NO_LEDGER, id="an owner has no item"
            ),
            pytest.param(
                entries(), lambda table: table.begin_rebuild(SEATS, 4), NO_LEDGER, id="a ledger is being rebuilt"
            ),
            pytest.param(
                entries("a2"),
                lambda table: Ledger(table).reserve(entries("a1", seats=1), {}),
                ENTRY_DIFFERS,
                id="another attempt owns an entry",
            ),
        ],
    )
    def test_does_not_take_shares_if_one_owner_refuses(
        self,
        several: Ledger,
        wanted: Mapping[str, Entry],
        prepare: Callable[[LedgerTable], object] | None,
        outcome: LedgerOutcome,
    ) -> None:
        if prepare is not None:
            prepare(several.table)
        before = several.table.nodes()
        assert several.reserve(wanted, {}).outcome is outcome
        assert several.table.nodes() == before

    def test_returns_the_ledgers_of_the_owners_that_refused(self, several: Ledger) -> None:
        found = several.reserve(entries(licences=1, seats=3), {})
        assert found.ledgers == {NODE: EMPTY, SEATS: EMPTY_SEATS}
        assert found.entries(UID) == {}

    def test_succeeds_when_repeated_after_a_lost_answer(self, several: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        write, answers = several.table.write_together, list[bool]()

        def loses_first_answer(
            changes: Mapping[str, NodeWrite], opened: OpenReservation | None
        ) -> tuple[str, ...] | None:
            found = write(changes, opened)
            answers.append(bool(answers))
            if not answers[-1]:
                raise TableUnavailable("no answer")
            return found

        monkeypatch.setattr(several.table, "write_together", loses_first_answer)
        with pytest.raises(TableUnavailable):
            several.reserve(entries(), {})
        assert several.reserve(entries(), {}).outcome is DONE
        assert now(several, SEATS).entries == {UID: entries()[SEATS]}
        assert (now(several, SEATS).avail, now(several).avail) == ({SEATS: 1}, {GPU: 8000, LICENCE: 2})

    def test_adds_only_the_entries_that_are_missing(self, several: Ledger) -> None:
        """The reservation is repeated after one of the entries was released."""
        several.reserve(entries(), {})
        several.release(SEATS, entries()[SEATS])
        assert several.reserve(entries(), {}).outcome is DONE
        assert now(several, SEATS).entries == {UID: entries()[SEATS]}
        assert now(several, CONNECTIONS).avail == {CONNECTIONS: 9}

    def test_reserves_on_the_latest_ledgers_if_another_bind_writes_first(
        self, several: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, others = several.table.write_together, [entry("other", shares={SEATS: 1})]

        def late(changes: Mapping[str, NodeWrite], opened: OpenReservation | None) -> tuple[str, ...] | None:
            if others:
                assert reserve(several, SEATS, others.pop()).done
                return ()
            return write(changes, opened)

        monkeypatch.setattr(several.table, "write_together", late)
        assert several.reserve(entries(), {}).outcome is DONE
        assert now(several, SEATS).entries.keys() == {UID, "uid-other"}
        assert now(several, SEATS).avail == {}

    def test_returns_contended_if_other_writes_come_first_at_every_try(
        self, several: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tries: list[object] = []

        def never(changes: Mapping[str, NodeWrite], opened: OpenReservation | None) -> tuple[str, ...] | None:
            tries.append(changes)
            return ()

        monkeypatch.setattr(several.table, "write_together", never)
        assert several.reserve(entries(), {}).outcome is LedgerOutcome.CONTENDED
        assert len(tries) == TRIES
        assert several.table.nodes() == [EMPTY_CONNECTIONS, EMPTY_SEATS, EMPTY]


class TestTakeOverAtSeveralOwners:
    def test_gives_every_entry_to_the_new_attempt(self, several: Ledger) -> None:
        several.reserve(entries("a1"), {})
        result = several.reserve(entries("a2"), entries("a1"))
        assert result.outcome is DONE
        assert result.entries(UID) == entries("a2")
        for owner, mine in entries("a2").items():
            assert now(several, owner).entries == {UID: mine}
            assert several.release(owner, entries("a1")[owner]).outcome is ENTRY_DIFFERS

    def test_adds_missing_amounts_and_keeps_existing_ones(self, several: Ledger) -> None:
        old, new = entries("a1", licences=2, seats=1), entries("a2", licences=1, seats=2)
        several.reserve(old, {})
        assert several.reserve(new, old).outcome is DONE
        assert now(several).entries[UID].shares == {LICENCE: 2}
        assert now(several, SEATS).entries[UID].shares == {SEATS: 2}

    def test_adds_entries_where_the_earlier_attempt_has_none(self, several: Ledger) -> None:
        """The earlier attempt was for another node."""
        several.reserve(entries("a1", seats=1), {})
        assert several.reserve(entries("a2"), entries("a1", seats=1)).outcome is DONE
        assert {owner: now(several, owner).entries[UID].attempt for owner in (NODE, SEATS, CONNECTIONS)} == {
            NODE: "a2",
            SEATS: "a2",
            CONNECTIONS: "a2",
        }

    def test_does_not_change_any_owner_if_one_has_too_little(self, several: Ledger) -> None:
        old = entries("a1", licences=1, seats=1)
        several.reserve(old, {})
        before = several.table.nodes()
        assert several.reserve(entries("a2", licences=2, seats=3), old).outcome is INSUFFICIENT
        assert several.table.nodes() == before

    def test_succeeds_when_repeated(self, several: Ledger) -> None:
        several.reserve(entries("a1"), {})
        for _ in range(2):
            assert several.reserve(entries("a2"), entries("a1")).outcome is DONE
        assert now(several, SEATS).avail == {SEATS: 1}

    @pytest.mark.parametrize(
        "found",
        [
            pytest.param(None, id="it was released"),
            pytest.param(entry(attempt="a3", shares={SEATS: 1}), id="a third attempt owns it"),
            pytest.param(entry(attempt="a1", shares={SEATS: 1}, state=BOUND), id="it is bound"),
        ],
    )
    def test_does_not_change_any_owner_if_one_entry_has_changed(self, several: Ledger, found: Entry | None) -> None:
        table, old = several.table, entries("a1", licences=1, seats=1)
        table.delete_if_empty(SEATS, 4)
        table.create(new_ledger(SEATS, {SEATS: 2}, {} if found is None else {UID: found}, epoch=4))
        several.reserve({NODE: old[NODE]}, {})
        before = table.nodes()
        assert several.reserve(entries("a2", licences=1, seats=1), old).outcome is ENTRY_DIFFERS
        assert table.nodes() == before
