"""Reservations on a ledger's table that throttles, in virtual time: nothing is lost, and calls are bounded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth.bind.share import Reservation, Reservations
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.ledger import new_ledger
from berth.pods import Binding
from berth.scheduling.managed_resources.demand import Demand
from tests.fakes.throttled_dynamodb import NewTable, ThrottledMoto
from tests.simulation.reservations.binds import COUNTING, LICENCE, assert_adds_up
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.lease.dynamodb_stores import client_of
from tests.unit.ledger.nodes.ledger_tables import new_table
from tests.unit.nodecache.feed.feeds import new_id

NODES, PODS_A_NODE = 8, 6
WRITES_A_SECOND = 16
"""Of the table; a quarter of each partition. A new table has 250 times as many."""

SCHEDULER_RETRY_SECONDS = 1.0
"""Of kube-scheduler's backoff queue: the first one."""


class Ledgers:
    """A table with a ledger for each node, and the clock of its throughput."""

    def __init__(self) -> None:
        self.clock = EnvironmentClock()
        self.moto = ThrottledMoto()
        self.client = client_of(self.moto.send)
        self.name = new_table(self.client)
        self.table = DynamoDBLedgerTable(self.client, self.name)
        for node in range(NODES):
            self.table.create(new_ledger(f"n{node}", {LICENCE: PODS_A_NODE}, {}, 1))

    def bind(self, node: str, pod: str) -> Reservation | BindResult:
        reservations = Reservations(self.table, new_id, self.clock.wall, call_seconds=0.0)
        binding = Binding("ml", pod, f"uid-{pod}", node)
        return reservations.reserve(binding, [Demand(LICENCE, 1)], COUNTING, lambda: 60.0)


@pytest.fixture
def ledgers() -> Iterator[Ledgers]:
    ledgers = Ledgers()
    yield ledgers
    ledgers.moto.guard = None
    ledgers.client.delete_table(TableName=ledgers.name)


@pytest.mark.long
def test_every_pod_gets_its_reservation_once_with_bounded_calls(ledgers: Ledgers) -> None:
    guard = ledgers.moto.guard = NewTable(ledgers.clock.monotonic, writes=WRITES_A_SECOND)
    waiting = [(f"n{node}", f"p{node}-{pod}") for pod in range(PODS_A_NODE) for node in range(NODES)]
    refused = 0
    while waiting:
        node, pod = waiting.pop(0)
        result = ledgers.bind(node, pod)
        if isinstance(result, BindResult):
            assert result.outcome is BindOutcome.LEDGER_UNAVAILABLE
            assert "throttled" in result.reason
            refused += 1
            waiting.append((node, pod))
            ledgers.clock.advance(SCHEDULER_RETRY_SECONDS)
    assert 0 < refused < NODES * PODS_A_NODE
    assert guard.tally.calls_per_write("PutItem", "UpdateItem") < 2.0
    ledgers.moto.guard = None
    for number in range(NODES):
        ledger = ledgers.table.node(f"n{number}")
        assert ledger is not None
        assert len(ledger.entries) == PODS_A_NODE
        assert_adds_up(ledger)


def test_refused_call_is_repeated_once_only(ledgers: Ledgers) -> None:
    guard = ledgers.moto.guard = NewTable(ledgers.clock.monotonic, down=lambda: True)
    result = ledgers.bind("n0", "p")
    assert isinstance(result, BindResult)
    assert result.outcome is BindOutcome.LEDGER_UNAVAILABLE
    assert guard.tally.calls.total() == 2
