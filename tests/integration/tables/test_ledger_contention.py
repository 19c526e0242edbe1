"""Writes per reservation with 16 concurrent binds on one node, on an emulator that serves them concurrently.

What is asserted holds in every order of the calls. How many writes most reservations need depends on the order:
tests/simulation/test_ledger_contention.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from uuid import uuid4

import pytest

from berth.bind.share import Reservation, Reservations
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.ledger import new_ledger
from berth.pods import Binding
from berth.scheduling.managed_resources.demand import Demand
from tests.simulation.reservations.binds import COUNTING, GPU_MEMORY, LICENCE, assert_adds_up
from tests.soak.checked import CheckedLedgerTable, FaultyTable
from tests.unit.ledger.nodes.ledger_tables import emulator_client, new_table

WORKERS = 16
ROUNDS = 8
NODE = "n1"
DEVICES = 8


def contend(
    endpoint_url: str, capacity: Mapping[str, int], demand: Demand
) -> list[tuple[Reservation | BindResult, int]]:
    """The result of each bind and its number of updates of the node's item."""
    client = emulator_client(endpoint_url, connections=WORKERS)
    results: list[tuple[Reservation | BindResult, int]] = []
    for _ in range(ROUNDS):
        table = CheckedLedgerTable(client, new_table(client))
        table.create(new_ledger(NODE, capacity, {}, 1))
        barrier = Barrier(WORKERS)

        def one(
            number: int, table: CheckedLedgerTable = table, barrier: Barrier = barrier
        ) -> tuple[Reservation | BindResult, int]:
            counted = FaultyTable(table, Random(number), 0.0)
            reservations = Reservations(counted, lambda: uuid4().hex, time.time, call_seconds=0.0)
            barrier.wait()
            held = reservations.reserve(
                Binding("ml", f"p{number}", f"uid-{number}", NODE), [demand], COUNTING, lambda: 60.0
            )
            return held, len(counted.writes)

        with ThreadPoolExecutor(WORKERS) as threads:
            results += threads.map(one, range(WORKERS))
        ledger = table.node(NODE)
        assert ledger is not None
        assert_adds_up(ledger)
    return results


@pytest.mark.parametrize(
    "capacity", [pytest.param(WORKERS, id="enough for all"), pytest.param(10, id="not enough for all")]
)
def test_reservation_without_devices_needs_one_write(concurrent_dynamodb_url: str, capacity: int) -> None:
    results = contend(concurrent_dynamodb_url, {LICENCE: capacity}, Demand(LICENCE, 1))
    assert {writes for _, writes in results} == {1}
    assert sum(isinstance(each, Reservation) for each, _ in results) == capacity * ROUNDS
    assert {each.outcome for each, _ in results if isinstance(each, BindResult)} <= {BindOutcome.INSUFFICIENT}


def test_reservation_with_devices_loses_each_device_at_most_once(concurrent_dynamodb_url: str) -> None:
    """A write fails only if the chosen device has become full since the last answer, and each becomes so once."""
    capacity = {f"{GPU_MEMORY}#{number}": 8000 for number in range(DEVICES)}
    results = contend(concurrent_dynamodb_url, capacity, Demand(GPU_MEMORY, 4000))
    held = [writes for each, writes in results if isinstance(each, Reservation)]
    assert len(held) == WORKERS * ROUNDS
    assert max(held) <= DEVICES
