"""A writer and a reader on one DynamoDB table, and a meter of the units of their requests."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import boto3

from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.cluster import Position
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.observed_state import ObjectsView
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.writer import Writer
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts
from tests.builders.tables import create_cache_table
from tests.capacity.item_size import item_size, read_units, write_units
from tests.capacity.sizes import pod_changes
from tests.unit.lease.clocks import EnvironmentClock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

TABLE = "capacity"
RESOURCES = ("nodes", "pods", "poddisruptionbudgets", "priorityclasses", "namespaces")
HEAD, LOG = "head", "log"


def sample(number: int) -> list[Change]:
    """Changes of random pods."""
    return random.Random(number).sample(pod_changes(), number)


class Meter:
    """Sums the units of every request by kind of key, from the sizes of the items. Threads may send them.

    An update is taken for one of an item of at most a kilobyte, as the head and the leases are.
    """

    def __init__(self, source: DynamoDBClient | boto3.Session) -> None:
        """source: a client of the caller's own, or a session for the clients that it creates from now on."""
        self.writes: dict[str, float] = {}
        self.reads: dict[str, float] = {}
        events = source.events if isinstance(source, boto3.Session) else source.meta.events
        events.register("after-call.dynamodb.*", self._count)
        events.register("provide-client-params.dynamodb.*", self._record_parameters)
        self._sent = threading.local()

    def clear(self) -> None:
        self.writes.clear()
        self.reads.clear()

    def _record_parameters(self, params: Mapping[str, Any], **_: object) -> None:
        self._sent.parameters = params

    def _count(self, model: Any, parsed: Mapping[str, Any], **_: object) -> None:
        parameters = self._sent.parameters
        share = 1.0 if parameters.get("ConsistentRead") else 0.5
        match model.name:
            case "PutItem":
                self._add(self.writes, parameters["Item"]["pk"]["S"], write_units(item_size(parameters["Item"])))
            case "UpdateItem":
                self._add(self.writes, parameters["Key"]["pk"]["S"], 1)
            case "GetItem":
                size = item_size(parsed.get("Item", {}))
                self._add(self.reads, parameters["Key"]["pk"]["S"], share * read_units(size))
            case "Query":
                size = sum(map(item_size, parsed["Items"]))
                self._add(self.reads, parameters["ExpressionAttributeValues"][":log"]["S"], share * read_units(size))
            case _:
                pass

    @staticmethod
    def _add(units_by_key: dict[str, float], key: str, number: float) -> None:
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
        assert self._writer.compact_if_due(
            {(name, key): kept for name, key, kept in sample(13) if kept}, self._observation()
        )

    def _observation(self) -> Observation:
        now = self.clock.wall()
        positions = {name: Position("123456789", now, now) for name in self.resources}
        return Observation("0d2f6a52-5d2f-4a4e-9d5e-111111111111", positions)

    def catch_up(self, parts: Parts = ALL_PARTS) -> None:
        self.reader.at(self.table.head(), parts=parts)

    def head_size(self) -> int:
        answer = self.client.get_item(TableName=TABLE, Key={"pk": {"S": HEAD}, "sk": {"N": "0"}})
        return item_size(answer["Item"])


@contextmanager
def feed_on_a_table() -> Iterator[Feed]:
    """A feed on the embedded DynamoDB of boto3's default session."""
    client: DynamoDBClient = boto3.client("dynamodb")
    create_cache_table(client, TABLE)
    try:
        yield Feed(client)
    finally:
        client.delete_table(TableName=TABLE)
