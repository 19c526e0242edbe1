"""The requests of one call within its deadline."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.ledger.gangs.item import Domain
from berth.ledger.gangs.table import GangTable, TimedGangTable, Transaction
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
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
