"""The model of units against what the writer and the reader really send."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.lease.config import HandOver, LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.nodecache.dynamodb_configuration import DynamoDBConfigurationStore
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.progress import Position
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.watcher import ObjectsView
from berth.nodecache.feed.writer import Writer
from tests.capacity.item_size import item_size, read_units, write_units
from tests.capacity.model import Load, units
from tests.capacity.sizes import HEAD_BYTES, HEAD_BYTES_SPREADING, LOG_ITEM_KEYS, packed_pod_changes, pod_changes
from tests.unit.lease.clocks import EnvironmentClock

TABLE = "capacity"
RESOURCES = ("nodes", "pods", "poddisruptionbudgets", "priorityclasses", "namespaces")
SPREADING = ("services", "replicationcontrollers", "replicasets", "statefulsets")
HEAD, LOG = "head", "log"


def sample(number: int) -> list[Change]:
    """Pods of which something has changed, anywhere in the cluster."""
    return random.Random(number).sample(pod_changes(), number)


class Meter:
    """Adds up the units of every request by kind of key, from the items themselves."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client
        self.writes: dict[str, int] = {}
        self.reads: dict[str, int] = {}
        client.meta.events.register("after-call.dynamodb.*", self._count)
        client.meta.events.register("provide-client-params.dynamodb.*", self._remember)
        self._parameters: Mapping[str, Any] = {}

    def _remember(self, params: Mapping[str, Any], **_: object) -> None:
        self._parameters = params

    def _count(self, model: Any, parsed: Mapping[str, Any], **_: object) -> None:
        parameters = self._parameters
        match model.name:
            case "PutItem":
                self._add(self.writes, parameters["Item"]["pk"]["S"], write_units(item_size(parameters["Item"])))
            case "GetItem":
                size = item_size(parsed.get("Item", {}))
                self._add(self.reads, parameters["Key"]["pk"]["S"], read_units(size))
            case "Query":
                size = sum(map(item_size, parsed["Items"]))
                self._add(self.reads, parameters["ExpressionAttributeValues"][":log"]["S"], read_units(size))
            case _:
                pass

    @staticmethod
    def _add(units_by_key: dict[str, int], key: str, number: int) -> None:
        kind = key.split("#")[0]
        units_by_key[kind] = units_by_key.get(kind, 0) + number


class Feed:
    """A writer and a reader on one table."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.clock = EnvironmentClock()
        self.client = client
        self.resources: tuple[str, ...] = RESOURCES
        self.table = DynamoDBCacheTable(client, TABLE)
        numbers = count(1)
        elector = LeaderElector(
            DynamoDBLeaseLock(client, TABLE),
            LeaderElectionConfig(),
            "watcher_0d2f6a52-5d2f-4a4e-9d5e-000000000000",
            self.clock,
            lambda: 0.0,
            None,
            HandOver(self.clock.wall() + 870, 180),
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
        )
        self.reader = NodeCacheReader(self.table, ObjectsView(), self.clock.advance)

    def flush(self, *changes: Change) -> None:
        self._writer.flush(changes, self._observation())

    def compact(self) -> None:
        assert self._writer.compact_if_due(
            {(name, key): kept for name, key, kept in sample(13) if kept}, self._observation()
        )

    def _observation(self) -> Observation:
        now = self.clock.wall()
        positions = {name: Position("123456789", now, now) for name in self.resources}
        return Observation("0d2f6a52-5d2f-4a4e-9d5e-111111111111", positions)

    def catch_up(self) -> None:
        self.reader.at(self.table.head())

    def head_size(self) -> int:
        answer = self.client.get_item(TableName=TABLE, Key={"pk": {"S": HEAD}, "sk": {"N": "0"}})
        return item_size(answer["Item"])


@pytest.fixture
def feed(dynamodb: DynamoDBClient) -> Iterator[Feed]:
    import boto3

    client: DynamoDBClient = boto3.client("dynamodb")
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
    )
    yield Feed(client)
    client.delete_table(TableName=TABLE)


@pytest.mark.parametrize(
    ("resources", "modelled"),
    [
        pytest.param(RESOURCES, HEAD_BYTES, id="what every profile needs"),
        pytest.param((*RESOURCES, *SPREADING), HEAD_BYTES_SPREADING, id="and what PodTopologySpread scores"),
    ],
)
def test_the_head_is_as_large_as_the_model_says_and_below_two_kilobytes(
    feed: Feed, resources: tuple[str, ...], modelled: int
) -> None:
    feed.resources = resources
    DynamoDBConfigurationStore(feed.client, TABLE).apply('{"profile": "full"}')
    feed.flush(*sample(13))
    feed.compact()
    assert feed.head_size() == pytest.approx(modelled, rel=0.03)
    assert write_units(feed.head_size()) == write_units(modelled) <= 2


@pytest.mark.parametrize("changes", [1, 13, 50, 250])
def test_a_flush_writes_what_the_model_says(feed: Feed, changes: int) -> None:
    feed.flush()
    meter = Meter(feed.client)
    feed.flush(*sample(changes))
    modelled = write_units(round(packed_pod_changes(changes)) + LOG_ITEM_KEYS)
    assert meter.writes[LOG] == pytest.approx(modelled, abs=1 + modelled * 0.2)


@pytest.mark.parametrize("changes", [1, 13, 50, 250])
def test_a_flush_costs_at_most_two_units_more_than_its_bytes(feed: Feed, changes: int) -> None:
    feed.flush()
    meter = Meter(feed.client)
    feed.flush(*sample(changes))
    head = feed.table.head()
    assert head is not None
    assert head.pointer is not None
    written = meter.writes[LOG] + write_units(feed.head_size())
    assert written <= 2 + write_units(head.pointer.log_bytes) + 1


def test_a_warm_call_costs_one_read_unit(feed: Feed) -> None:
    feed.flush(*sample(13))
    feed.catch_up()
    meter = Meter(feed.client)
    feed.catch_up()
    assert meter.reads == {HEAD: 1}


@pytest.mark.parametrize("changes", [1, 50, 250])
def test_a_warm_call_after_changes_costs_one_unit_for_the_head_and_one_for_four_kilobytes(
    feed: Feed, changes: int
) -> None:
    feed.flush(*sample(10))
    feed.catch_up()
    before = feed.table.head()
    meter = Meter(feed.client)
    feed.flush(*sample(changes))
    feed.catch_up()
    after = feed.table.head()
    assert before is not None
    assert after is not None
    assert before.pointer is not None
    assert after.pointer is not None
    packed = after.pointer.log_bytes - before.pointer.log_bytes
    # The last read of the head is this test's own.
    assert meter.reads[HEAD] == 2
    assert meter.reads[LOG] <= read_units(packed + LOG_ITEM_KEYS)


def test_twice_the_changes_do_not_cost_twice_as_much() -> None:
    """They share items, and what the pods of a controller have in common is packed once."""
    one, two = units(Load(5_000, 25, 12)), units(Load(5_000, 50, 24))
    assert one.log_writes < two.log_writes < 2 * one.log_writes
