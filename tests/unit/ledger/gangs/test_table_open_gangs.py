"""The gangs that are being bound, as filter reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from berth.dynamodb import TableUnavailable
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.ledger.gangs.item import GangItem, GangState
from berth.ledger.gangs.table import TableOpenGangs
from berth.scheduling.gangs.gang import OpenGang
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import TRAIN, gang, intent

NOW = 30.0
MEMBERS = [intent("train-0", "n1", until=NOW + 1), intent("train-1", "n2", until=NOW)]
BOTH = {"uid-train-0": "n1", "uid-train-1": "n2"}


def read(deadline: Deadline, query: Callable[[], Sequence[GangItem]]) -> Sequence[GangItem]:
    return query()


@pytest.mark.parametrize(
    ("state", "places"),
    [
        pytest.param(GangState.OPEN, {"uid-train-0": "n1"}, id="open gang: members with waiting calls"),
        pytest.param(GangState.PREPARING, BOTH, id="preparing gang: all members"),
        pytest.param(GangState.COMMITTED, BOTH, id="committed gang: all members"),
        pytest.param(GangState.ROLLING_BACK, None, id="gang rolling back: not listed"),
        pytest.param(GangState.ENDED, None, id="ended gang: not listed"),
    ],
)
def test_returns_the_places_of_members_by_gang_state(state: GangState, places: Mapping[str, str] | None) -> None:
    table = InMemoryGangTable(InMemoryLedgerTable())
    table.put(gang(MEMBERS, state=state), None)
    found = TableOpenGangs(table, lambda: NOW, read, pytest.fail).open_gangs(NO_DEADLINE)
    wanted = [] if places is None else [OpenGang(TRAIN, 0, places, is_committed=state is GangState.COMMITTED)]
    assert found == wanted


def test_returns_previously_read_gangs_while_the_table_does_not_respond() -> None:
    table, warnings = InMemoryGangTable(InMemoryLedgerTable()), list[str]()
    table.put(gang(MEMBERS, state=GangState.COMMITTED), None)
    answers = [True, False]

    def read_once(deadline: Deadline, query: Callable[[], Sequence[GangItem]]) -> Sequence[GangItem]:
        if answers.pop(0):
            return query()
        raise TableUnavailable("ledger table x: no answer")

    gangs = TableOpenGangs(table, lambda: NOW, read_once, warnings.append)
    assert gangs.open_gangs() == gangs.open_gangs()
    assert warnings == ["ledger table x: no answer; the gangs that were open before count"]
