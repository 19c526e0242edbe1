"""The requests of one call within its deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from berth.dynamodb import TableUnavailable
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.ledger.gangs.item import Domain, GangItem, GangState
from berth.ledger.gangs.table import GangTable, TableOpenGangs, TimedGangTable, Transaction
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.gangs.gang import OpenGang
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import TRAIN, claim, gang, intent
from tests.fakes.clock import HandDrivenClock

REQUESTS: dict[str, Callable[[GangTable], object]] = {
    "gangs": lambda table: table.gangs(),
    "gang": lambda table: table.gang(TRAIN),
    "put": lambda table: table.put(gang(), None),
    "delete": lambda table: table.delete(gang()),
    "join": lambda table: table.join(TRAIN, 1, intent()),
    "withdraw": lambda table: table.withdraw(TRAIN, 1, "uid-train-0", "attempt-train-0"),
    "domain": lambda table: table.domain(),
    "put_domain": lambda table: table.put_domain(Domain(claim(), 1), Domain()),
    "ledgers": lambda table: table.ledgers(["n1"]),
    "transact": lambda table: table.transact(Transaction(gang(), None, None, {})),
}


def no_time() -> None:
    raise DeadlineExceeded


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_does_not_send_a_request_if_too_little_time_is_left(request_: Callable[[GangTable], object]) -> None:
    table = InMemoryGangTable(InMemoryLedgerTable())
    with pytest.raises(DeadlineExceeded):
        request_(TimedGangTable(table, no_time, HandDrivenClock()))
    assert (table.gangs(), table.domain()) == ([], Domain())


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_sends_every_request_if_there_is_enough_time(request_: Callable[[GangTable], object]) -> None:
    tables = [InMemoryGangTable(InMemoryLedgerTable()) for _ in range(2)]
    answers = [request_(tables[0]), request_(TimedGangTable(tables[1], lambda: None, HandDrivenClock()))]
    assert answers[0] == answers[1]
    assert tables[0].gangs() == tables[1].gangs()


def test_measures_the_duration_of_its_requests() -> None:
    clock = HandDrivenClock()
    seconds = [0.25, 0.75]

    class SlowTable(InMemoryGangTable):
        def domain(self) -> Domain:
            clock.advance(seconds.pop(0))
            return super().domain()

    table = TimedGangTable(SlowTable(InMemoryLedgerTable()), lambda: None, clock)
    assert table.pace == 0.0
    table.domain()
    table.domain()
    assert table.pace == pytest.approx(0.5)


# The gangs that are being bound, as filter reads them.

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
