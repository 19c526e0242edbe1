"""Ledgers on every implementation of the port LedgerTable."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth.ledger.nodes.ledger import Ledger
from berth.ledger.nodes.table import LedgerTable, Written
from tests.contract.ledger.ledgers import EMPTY, EMPTY_CONNECTIONS, EMPTY_SEATS
from tests.unit.ledger.nodes.ledger_tables import ALL, ledger_table


@pytest.fixture(params=ALL)
def table(request: pytest.FixtureRequest) -> Iterator[LedgerTable]:
    with ledger_table(request.param, request) as table:
        yield table


@pytest.fixture
def ledger(table: LedgerTable) -> Ledger:
    """Return a ledger on a table with one node, which has 8,000 units of one pool and 3 of the other."""
    assert table.create(EMPTY) == Written(EMPTY)
    return Ledger(table)


@pytest.fixture
def several(ledger: Ledger) -> Ledger:
    """Return a ledger that also has two floating pools, with capacities of 2 and 10."""
    for each in (EMPTY_SEATS, EMPTY_CONNECTIONS):
        assert ledger.table.create(each) == Written(each)
    return ledger
