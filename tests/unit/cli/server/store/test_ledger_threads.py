"""The ledger in memory, written by many threads at once: no unit is reserved twice, and no thread waits forever.

The interpreter switches between threads after every few instructions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import pytest

from berth.bind.share import Request, Reservation, Reservations
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.ledger import new_ledger
from berth.pods import Binding
from berth.scheduling.managed_resources.demand import Demand
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.simulation.reservations.binds import COUNTING, GPU_MEMORY, LICENCE, assert_adds_up

WORKERS, ROUNDS = 16, 5
DEVICES = {f"{GPU_MEMORY}#{number}": 8000 for number in range(WORKERS // 2)}
PATIENCE_SECONDS = 60


@pytest.fixture(autouse=True)
def _busy_interpreter() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    ("capacity", "demand", "places"),
    [
        pytest.param({LICENCE: WORKERS}, Demand(LICENCE, 1), WORKERS, id="enough for all"),
        pytest.param({LICENCE: 10}, Demand(LICENCE, 1), 10, id="not enough for all"),
        pytest.param(DEVICES, Demand(GPU_MEMORY, 4000), WORKERS, id="two on each device"),
    ],
)
def test_concurrent_binds_never_exceed_the_capacity(capacity: dict[str, int], demand: Demand, places: int) -> None:
    for _ in range(ROUNDS):
        table, barrier = InMemoryLedgerTable(), Barrier(WORKERS)
        table.create(new_ledger("n1", capacity, {}, 1))
        reservations = Reservations(table, lambda: uuid4().hex, time.time, call_seconds=0.0)

        def one(
            number: int, reservations: Reservations = reservations, barrier: Barrier = barrier
        ) -> Reservation | BindResult:
            barrier.wait(PATIENCE_SECONDS)
            binding = Binding("ml", f"p{number}", f"uid-{number}", "n1")
            return reservations.reserve(binding, Request((demand,)), COUNTING, lambda: 60.0)

        with ThreadPoolExecutor(WORKERS) as threads:
            results = list(threads.map(one, range(WORKERS), timeout=PATIENCE_SECONDS))
        assert sum(isinstance(each, Reservation) for each in results) == places
        assert {each.outcome for each in results if isinstance(each, BindResult)} <= {BindOutcome.INSUFFICIENT}
        ledger = table.node("n1")
        assert ledger is not None
        assert_adds_up(ledger)
