"""The units that DynamoDB Local reports (ReturnConsumedCapacity), beside the figures of docs/reference/capacity.md."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.bind.share import Reservation, Reservations
from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES, PODS
from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.ledger import new_ledger
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import Observation, Position
from berth.nodecache.feed.leader import ObjectsView
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.writer import Writer
from berth.pods import Binding
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_ONLY, Parts
from tests.bench import cluster
from tests.builders.tables import create_cache_table
from tests.fakes.dynamodb_units import read_units, write_units
from tests.simulation.reservations.binds import CAPACITY, COUNTING, GPU_MEMORY, LICENCE
from tests.unit.lease.clocks import AT, EnvironmentClock
from tests.unit.ledger.nodes.ledger_tables import emulator_client, new_table
from tests.unit.nodecache.feed.feeds import new_id

pytestmark = pytest.mark.external

TABLE = "capacity"
RESOURCES = ("nodes", "pods", "poddisruptionbudgets", "priorityclasses", "namespaces")


def node_changes(count: int) -> Iterator[Change]:
    """So many nodes, as they are published."""
    trim = projections(RequiredFields())[NODES]
    return (Change("nodes", cluster.node_name(index), trim(cluster.node_manifest(index))) for index in range(count))


def pod_changes(count: int) -> list[Change]:
    """So many pods on nodes, as they are published; the same each time."""
    trim, draw = projections(RequiredFields())[PODS], random.Random(count)
    found = []
    for number in draw.sample(range(15_000), count):
        pod = cluster.pod_manifest(number % cluster.CONTROLLERS)
        pod["metadata"]["name"] += f"-{number}"
        pod["spec"]["nodeName"] = cluster.node_name(number % 500)
        found.append(Change("pods", f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", trim(pod)))
    return found


class Feed:
    """A writer and a reader on one table."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.clock = EnvironmentClock()
        self.table = DynamoDBCacheTable(client, TABLE)
        numbers = count(1)
        elector = LeaderElector(
            DynamoDBLeaseLock(client, TABLE),
            LeaderElectionConfig(),
            "watcher_0d2f6a52-5d2f-4a4e-9d5e-000000000000",
            self.clock,
            lambda: 0.0,
            None,
            Handover(self.clock.wall() + 870, 180),
        )
        elector.step()
        fence = elector.fence()
        assert fence is not None
        self._writer = Writer(
            self.table,
            elector,
            None,
            fence.lease_transitions,
            clock=self.clock,
            new_id=lambda: f"{next(numbers):032x}",
            sleep=self.clock.advance,
        )
        self.reader = NodeCacheReader(self.table, ObjectsView(), self.clock.advance)

    def flush(self, *changes: Change) -> None:
        self._writer.flush(changes, self._observation())

    def replace(self, *objects: Change) -> None:
        """Publish these objects alone, as a snapshot."""
        self._writer.replace((), {(name, key): kept for name, key, kept in objects if kept}, self._observation())

    def compact(self) -> None:
        objects = {(name, key): kept for name, key, kept in pod_changes(13) if kept}
        assert self._writer.compact_if_due(objects, self._observation())

    def _observation(self) -> Observation:
        now = self.clock.wall()
        positions = {name: Position("123456789", now, now) for name in RESOURCES}
        return Observation("0d2f6a52-5d2f-4a4e-9d5e-111111111111", positions)

    def catch_up(self, parts: Parts = ALL_PARTS) -> None:
        self.reader.at(self.table.head(), parts=parts)


class ReportedUnits:
    """What the table says that each request has used, by the kind of key and of request."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.reads: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()
        self.requests = 0
        self._key = ""
        self._events: Any = client.meta.events
        ask: Any = self._ask  # the stubs know no handler that answers
        self._events.register("provide-client-params.dynamodb.*", ask)
        self._events.register("after-call.dynamodb.*", self._count)

    def close(self) -> None:
        self._events.unregister("provide-client-params.dynamodb.*", self._ask)
        self._events.unregister("after-call.dynamodb.*", self._count)

    def clear(self) -> None:
        self.reads.clear()
        self.writes.clear()
        self.requests = 0

    def _ask(self, params: Mapping[str, Any], model: Any, **_: object) -> Mapping[str, Any]:
        if model.name in ("CreateTable", "DeleteTable"):
            return params
        # A further page of a query names the key twice.
        key, queried = re.findall(r"'pk': \{'S': '(\w+)|:(?:log|open)': \{'S': '(\w+)", str(params))[0]
        self._key = key or queried
        return {**params, "ReturnConsumedCapacity": "TOTAL"}

    def _count(self, model: Any, parsed: Mapping[str, Any], **_: object) -> None:
        if "ConsumedCapacity" in parsed:
            self.requests += 1
            units = self.reads if model.name in ("GetItem", "Query") else self.writes
            units[self._key] += parsed["ConsumedCapacity"]["CapacityUnits"]


@pytest.fixture
def client(dynamodb_local_url: str) -> DynamoDBClient:
    return emulator_client(dynamodb_local_url)


@pytest.fixture
def feed(client: DynamoDBClient) -> Iterator[Feed]:
    create_cache_table(client, TABLE)
    yield Feed(client)
    client.delete_table(TableName=TABLE)


@pytest.fixture
def reported(client: DynamoDBClient) -> Iterator[ReportedUnits]:
    reported = ReportedUnits(client)
    yield reported
    reported.close()


def test_warm_call_costs_one_read_unit(feed: Feed, reported: ReportedUnits) -> None:
    feed.flush(*pod_changes(13))
    feed.catch_up()
    reported.clear()
    feed.catch_up()
    assert reported.reads == {"head": 1.0}
    assert not reported.writes


@pytest.mark.parametrize("changes", [1, 50, 250])
def test_flush_costs_one_unit_for_the_head_and_one_per_kilobyte(
    feed: Feed, reported: ReportedUnits, changes: int
) -> None:
    feed.flush()
    reported.clear()
    feed.flush(*pod_changes(changes))
    used = dict(reported.writes)
    head = feed.table.head()
    assert head is not None
    assert head.pointer is not None
    assert used == {"head": 1.0, "log": pytest.approx(write_units(head.pointer.log_bytes + 160), abs=1)}


def test_call_after_changes_costs_one_unit_more_per_four_kilobytes(feed: Feed, reported: ReportedUnits) -> None:
    feed.flush(*pod_changes(10))
    feed.catch_up()
    before = feed.table.head()
    feed.flush(*pod_changes(250))
    reported.clear()
    feed.catch_up()
    used = dict(reported.reads)
    after = feed.table.head()
    assert before is not None
    assert after is not None
    assert before.pointer is not None
    assert after.pointer is not None
    packed = after.pointer.log_bytes - before.pointer.log_bytes
    assert used == {"head": 1.0, "log": pytest.approx(read_units(packed + 160), abs=1)}


def test_cold_start_costs_half_a_unit_per_four_kilobytes_of_the_snapshot(feed: Feed, reported: ReportedUnits) -> None:
    feed.flush(*pod_changes(250))
    feed.compact()
    head = feed.table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.snapshot is not None
    reported.clear()
    NodeCacheReader(feed.table, ObjectsView(), EnvironmentClock().advance).at(head)
    size, chunks = head.pointer.snapshot.size, len(head.pointer.snapshot.indexes(ALL_PARTS))
    assert reported.reads["snapshot"] == pytest.approx(read_units(size) / 2, abs=0.5 * chunks)


@pytest.fixture
def changing(feed: Feed) -> Feed:
    """5,000 nodes, and 10,000 changes of pods in flushes since the snapshot: about 1.3 MB of log."""
    feed.replace(*node_changes(5_000))
    for number in range(100):
        feed.flush(*pod_changes(100 + number % 2))
    return feed


def test_cold_start_of_nodes_alone_costs_nothing_for_changes_of_pods(changing: Feed, reported: ReportedUnits) -> None:
    reader = NodeCacheReader(changing.table, ObjectsView(), EnvironmentClock().advance)
    assert len(reader.at(changing.table.head(), parts=NODES_ONLY)) == 5_000
    assert reported.reads.keys() == {"head", "snapshot"}
    assert reported.reads.total() <= 80
    reported.clear()
    assert len(reader.at(changing.table.head())) > 5_000
    assert reported.reads["log"] > 80


def test_warm_call_that_needs_nodes_costs_one_unit_while_pods_change(feed: Feed, reported: ReportedUnits) -> None:
    feed.replace(*node_changes(10))
    feed.catch_up(NODES_ONLY)
    for _ in range(3):
        feed.flush(*pod_changes(50))
        reported.clear()
        feed.catch_up(NODES_ONLY)
        assert (reported.requests, dict(reported.reads)) == (1, {"head": 1.0})
    feed.flush(*node_changes(1))
    reported.clear()
    feed.catch_up(NODES_ONLY)
    assert (reported.requests, dict(reported.reads)) == (2, {"head": 1.0, "log": 1.0})


@pytest.mark.parametrize(
    ("demand", "reads"),
    [
        pytest.param(Demand(LICENCE, 1), {}, id="without devices"),
        pytest.param(Demand(GPU_MEMORY, 1000), {"node": 1.0}, id="with devices"),
    ],
)
def test_counted_bind_costs_two_writes_and_a_read_for_devices(
    client: DynamoDBClient, reported: ReportedUnits, demand: Demand, reads: Mapping[str, float]
) -> None:
    name = new_table(client)
    table = DynamoDBLedgerTable(client, name)
    table.create(new_ledger("n1", CAPACITY, {}, 1))
    reported.clear()
    reservations = Reservations(table, new_id, lambda: AT, call_seconds=0.0)
    held = reservations.reserve(Binding("ml", "p", "uid-p", "n1"), [demand], COUNTING, lambda: 60.0)
    assert isinstance(held, Reservation)
    assert reported.reads == reads
    assert reported.writes == {"open": 1.0, "node": 1.0}
    client.delete_table(TableName=name)
