"""Ledger and gangs in memory, written to by many threads at once: nothing is given twice, and no thread waits for ever.

The interpreter changes between threads after every few instructions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import pytest

from berth.bind.share import Reservation, Reservations
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.gangs.table import Transaction
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, reserve_changes
from berth.pods import Binding
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import gang
from tests.simulation.reservations.binds import COUNTING, GPU_MEMORY, LICENCE, assert_adds_up

WORKERS, ROUNDS = 16, 5
NODES = ("n1", "n2")
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
def test_concurrent_binds_reserve_what_there_is(capacity: dict[str, int], demand: Demand, places: int) -> None:
    for _ in range(ROUNDS):
        table, barrier = InMemoryLedgerTable(), Barrier(WORKERS)
        table.create(new_ledger("n1", capacity, {}, 1))
        reservations = Reservations(table, lambda: uuid4().hex, time.time, call_seconds=0.0)

        def one(
            number: int, reservations: Reservations = reservations, barrier: Barrier = barrier
        ) -> Reservation | BindResult:
            barrier.wait(PATIENCE_SECONDS)
            binding = Binding("ml", f"p{number}", f"uid-{number}", "n1")
            return reservations.reserve(binding, [demand], COUNTING, lambda: 60.0)

        with ThreadPoolExecutor(WORKERS) as threads:
            results = list(threads.map(one, range(WORKERS), timeout=PATIENCE_SECONDS))
        assert sum(isinstance(each, Reservation) for each in results) == places
        assert {each.outcome for each in results if isinstance(each, BindResult)} <= {BindOutcome.INSUFFICIENT}
        ledger = table.node("n1")
        assert ledger is not None
        assert_adds_up(ledger)


def test_gangs_and_single_pods_take_no_seat_twice_and_gangs_get_all_or_none() -> None:
    """A gang takes a seat on both nodes in one transaction, while single pods take them one by one."""
    for _ in range(ROUNDS):
        ledger, barrier = InMemoryLedgerTable(), Barrier(2 * WORKERS)
        gangs = InMemoryGangTable(ledger)
        for node in NODES:
            ledger.create(new_ledger(node, {LICENCE: WORKERS}, {}, 1))

        def place_gang(number: int, gangs: InMemoryGangTable = gangs, barrier: Barrier = barrier) -> bool:
            item = gang(key=GangKey("ml", f"g{number}"))
            assert gangs.put(item, None)
            writes = {node: _reserves(f"g{number}-{node}") for node in NODES}
            barrier.wait(PATIENCE_SECONDS)
            return gangs.transact(Transaction(item, None, None, writes)) is None

        def place_pod(number: int, ledger: InMemoryLedgerTable = ledger, barrier: Barrier = barrier) -> None:
            barrier.wait(PATIENCE_SECONDS)
            ledger.write(NODES[number % 2], _reserves(f"p{number}"))

        with ThreadPoolExecutor(2 * WORKERS) as threads:
            placed = threads.map(place_gang, range(WORKERS), timeout=PATIENCE_SECONDS)
            list(threads.map(place_pod, range(WORKERS), timeout=PATIENCE_SECONDS))
            whole = {f"uid-g{number}" for number, is_placed in enumerate(placed) if is_placed}
        entries = {}
        for found in ledger.nodes():
            assert_adds_up(found)
            assert found.avail == {}
            entries[found.node] = {uid.rpartition("-")[0] for uid in found.entries if uid.startswith("uid-g")}
        assert entries == dict.fromkeys(NODES, whole)


def _reserves(name: str) -> NodeWrite:
    shares = {LICENCE: 1}
    entry = Entry(PodKey("ml", name, f"uid-{name}"), EntryState.RESERVED, f"attempt-{name}", shares, 0.0)
    return NodeWrite((EntryChange(entry.pod.uid, None, entry),), reserve_changes({}, shares))
