"""Writes per reservation when 16 binds reserve devices of one node at the same time, in orders drawn from seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from uuid import UUID

import pytest

from berth.bind.share import Reservation, Reservations
from berth.extender.outcomes import BindResult
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import NotWritten, Written
from berth.pods import Binding
from berth.scheduling.managed_resources.demand import Demand
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from tests.simulation.world import EPOCH, World

from .reservations.binds import COUNTING, GPU_MEMORY, assert_adds_up
from .reservations.interrupted import InterruptedTable

pytestmark = pytest.mark.long

BINDS = 16
DEVICES = 8
HISTORIES = 400
NODE = "n1"


class CountedWrites(InterruptedTable):
    """Counts the updates of a node's item."""

    writes = 0

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        self.writes += 1
        return super().write(node, change)


def contend(seed: int, duration: Callable[[Random], float]) -> list[tuple[Reservation | BindResult, int]]:
    """The result of each bind and its number of updates. duration: of each half of a call, in seconds."""
    world, table = World(seed), InMemoryLedgerTable()
    table.create(new_ledger(NODE, {f"{GPU_MEMORY}#{number}": 8000 for number in range(DEVICES)}, {}, 1))
    results: list[tuple[Reservation | BindResult, int]] = []

    def reserve(number: int) -> None:
        counted = CountedWrites(table, lambda: world.pause(duration(world.random)))
        reservations = Reservations(counted, lambda: f"attempt-{number}", lambda: EPOCH + world.now, call_seconds=0.0)
        binding = Binding("ml", f"p{number}", str(UUID(int=world.random.getrandbits(128))), NODE)
        held = reservations.reserve(binding, [Demand(GPU_MEMORY, 4000)], COUNTING, lambda: 60.0)
        results.append((held, counted.writes))

    for number in range(BINDS):
        world.start(f"bind-{number}", partial(reserve, number))
    world.run(60.0)
    ledger = table.node(NODE)
    assert ledger is not None
    assert_adds_up(ledger)
    return results


@pytest.mark.parametrize(
    "duration",
    [
        pytest.param(lambda random: random.uniform(0.0, 0.01), id="calls of different durations"),
        pytest.param(lambda random: 0.005, id="calls in step"),
    ],
)
def test_reservation_with_devices_needs_at_most_three_writes(duration: Callable[[Random], float]) -> None:
    results = [result for seed in range(HISTORIES) for result in contend(seed, duration)]
    held = [writes for each, writes in results if isinstance(each, Reservation)]
    assert len(held) == BINDS * HISTORIES
    assert sum(writes <= 3 for writes in held) >= 0.95 * len(held), sorted(held)
    assert max(held) > 1, "no two binds chose the same device at the same time"
