"""bind's operations on the ledgers of several owners, on every implementation of the port LedgerTable."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
BOUND = EntryState.BOUND


def entries(attempt: str = "a1", name: str = "train-0", **amounts: int) -> dict[str, Entry]:
    """Return the entries of an attempt, by owner: by default one of each pool."""
    pools = {"licences": (NODE, LICENCE), "seats": (SEATS, SEATS), "connections": (CONNECTIONS, CONNECTIONS)}
    wanted = amounts or dict.fromkeys(pools, 1)
    return {pools[key][0]: entry(name, attempt, {pools[key][1]: amount}) for key, amount in wanted.items()}


UID = "uid-train-0"


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
                entries(),
                lambda table: table.delete_if_empty(CONNECTIONS, 4),
                NO_LEDGER,
                id="an owner has no item",
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
        """A repetition, after one of the entries has ended."""
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
    def test_keeps_every_owner_if_an_entry_changed_since_the_read(self, several: Ledger, found: Entry | None) -> None:
        table, old = several.table, entries("a1", licences=1, seats=1)
        table.delete_if_empty(SEATS, 4)
        table.create(new_ledger(SEATS, {SEATS: 2}, {} if found is None else {UID: found}, epoch=4))
        several.reserve({NODE: old[NODE]}, {})
        before = table.nodes()
        assert several.reserve(entries("a2", licences=1, seats=1), old).outcome is ENTRY_DIFFERS
        assert table.nodes() == before
