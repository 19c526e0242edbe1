"""The leader's metrics of floating pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.runtime.telemetry.metrics import Metrics
from berth.runtime.watcher.pool_levels import INTERVAL_SECONDS, MAX_POOLS, PoolLevels
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.projection import WAITS_FOR_POOL
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.counted import counting
from tests.builders.nodes import node_object

SEAT, LINK, ZONE = "example.com/seat", "example.com/link", "zone"
COUNTING = counting(
    {"name": SEAT, "capacity": {"value": 12, "scope": "cluster"}, "perNamespace": 6},
    {"name": LINK, "capacity": {"value": 4, "scope": ZONE}},
)
CLUSTER, TEAM, A = f"{SEAT}@cluster", f"{SEAT}@namespace=ml", f"{LINK}@{ZONE}=a"


class Recorded(Metrics):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, tuple[float, float, float]] = {}

    def emit(self, groups: Any, dimensions: Any, values: Mapping[str, Any], now: float) -> None:
        capacity, held, waiting = (values[name][0] for name in ("PoolCapacity", "PoolHeld", "PoolWaiting"))
        self.found[dimensions["pool"]] = capacity, held, waiting


def ledgers(**held: int) -> LedgerTable:
    """Return a table with ledgers of the three pools. held: the amounts by the first letter of the pool's scope."""
    table = InMemoryLedgerTable()
    for pool, capacity in {CLUSTER: 12, TEAM: 6, A: 4}.items():
        amount = held.get(pool.rpartition("@")[2][0], 0)
        entry = Entry(PodKey("ml", "p", "uid"), EntryState.BOUND, "", {pool: amount}, 0.0)
        table.create(new_ledger(pool, {pool: capacity}, {"uid": entry} if amount else {}, epoch=1))
    return table


def waiting(name: str, resource: str, *, waits: bool = True) -> Change:
    spec = {"containers": [{"name": "main", "resources": {"requests": {resource: "1"}}}]}
    metadata = {"name": name, "namespace": "ml", "uid": name}
    return Change("pods", f"ml/{name}", {"metadata": metadata, "spec": spec, "status": {}, WAITS_FOR_POOL: waits})


def node(name: str, zone: str | None) -> Change:
    return Change("nodes", name, None if zone is None else node_object(name, {ZONE: zone}))


def measured(
    first: Sequence[Change], *later: Sequence[Change], table: LedgerTable | None = None, counted: Counting = COUNTING
) -> Mapping[str, tuple[float, float, float]]:
    """Return the capacity, the held units and the number of waiting pods, by pool, after these publications."""
    metrics = Recorded()
    levels = PoolLevels(counted, table or ledgers(), metrics, lambda: 0.0)
    objects = {(each.resource, each.key): each.object for each in first if each.object is not None}
    for changes in ((), *later):
        levels.published(Publication(1, changes, objects, True, Observation("c", {}), {}))
    assert levels.step() == INTERVAL_SECONDS
    return metrics.found


@pytest.mark.parametrize(
    ("publications", "found"),
    [
        pytest.param([()], {CLUSTER: (12, 3, 0)}, id="the cluster's pool is always measured"),
        pytest.param([[node("n", "a")]], {CLUSTER: (12, 3, 0), A: (4, 2, 0)}, id="a node is in a domain"),
        pytest.param([[node("n", "a")], [node("n", None)]], {CLUSTER: (12, 3, 0)}, id="it is removed"),
        pytest.param([[node("n", "a")], [node("n", "b")]], {CLUSTER: (12, 3, 0)}, id="its domain has no ledger"),
        pytest.param(
            [[waiting("p", SEAT), waiting("q", SEAT)]],
            {CLUSTER: (12, 3, 2), TEAM: (6, 1, 2)},
            id="pods wait for the cluster's and their namespace's",
        ),
        pytest.param([[waiting("p", SEAT)], [waiting("p", SEAT, waits=False)]], {CLUSTER: (12, 3, 0)}, id="one did"),
        pytest.param([[waiting("p", SEAT)], [Change("pods", "ml/p", None)]], {CLUSTER: (12, 3, 0)}, id="it is gone"),
        pytest.param(
            [[node("n", "a"), waiting("p", LINK)]],
            {CLUSTER: (12, 3, 0), A: (4, 2, 1)},
            id="a pod waits for the pools of all values",
        ),
    ],
)
def test_measures_every_floating_pool_that_exists(
    publications: Sequence[Sequence[Change]], found: Mapping[str, tuple[float, float, float]]
) -> None:
    assert measured(*publications, table=ledgers(c=3, n=1, z=2)) == found


def test_measures_a_limited_number_of_pools_and_prefers_pools_with_waiting_pods() -> None:
    names = [f"example.com/r{number:02}" for number in range(MAX_POOLS + 1)]
    table = InMemoryLedgerTable()
    for name in names:
        table.create(new_ledger(f"{name}@cluster", {f"{name}@cluster": 1}, {}, epoch=1))
    many = counting(*({"name": name, "capacity": {"value": 1, "scope": "cluster"}} for name in names))
    found = measured([waiting("p", names[-1])], table=table, counted=many)
    assert len(found) == MAX_POOLS
    assert found[f"{names[-1]}@cluster"] == (1, 0, 1)
