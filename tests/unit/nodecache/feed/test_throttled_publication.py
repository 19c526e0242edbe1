"""The first publication of a large cluster on a new on-demand table, in virtual time.

The table throttles, and the lease is one of its items.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from threading import Lock

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.botocore_stubber import BotocoreStubber
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.cluster import Listed
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.leader import ObjectsView, Publication
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.watcher import RunResult, Watcher, WatcherOutcome
from berth.scheduling.snapshot.parts import ALL_PARTS
from tests.builders.tables import create_cache_table
from tests.fakes.throttled_dynamodb import NewTable, send_throttled
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.lease.dynamodb_stores import client_of
from tests.unit.nodecache.feed.feeds import new_id
from tests.unit.nodecache.feed.scripted_cluster import ScriptedCluster

pytestmark = pytest.mark.long

CALL_SECONDS = 0.002
"""Seconds of virtual time for a call: eight concurrent calls take 16 ms."""

RUN_SECONDS = 120.0
MOST_CALLS_PER_WRITE = 1.5
"""Chunks of random data are five times as large as real chunks, so a partition throttles their writes more often."""

TABLE = "throttled-publication"


def large_nodes(count: int) -> tuple[dict[str, object], ...]:
    """Return nodes that each take 1,936 bytes of a snapshot, as much as a real node with its 30 pods."""
    random = Random(count)
    return tuple({"metadata": {"name": f"n{number}"}, "pods": random.randbytes(1_700).hex()} for number in range(count))


class Throttled:
    """A watcher on a table that throttles, over a cluster whose list is large."""

    def __init__(self, **limits: float) -> None:
        self.clock = EnvironmentClock()
        self.cluster = ScriptedCluster(self.clock)
        self.guard = NewTable(self.clock.monotonic, **limits)  # type: ignore[arg-type]
        self.publications: list[tuple[float, Publication]] = []
        self._lock = Lock()
        self._moto = BotocoreStubber()
        self._moto.enabled = True
        self.client: DynamoDBClient = client_of(self._send)
        self.table = DynamoDBCacheTable(self.client, TABLE)
        self.elector = LeaderElector(
            DynamoDBLeaseLock(self.client, TABLE),
            LeaderElectionConfig(),
            "watcher-1",
            self.clock,
            lambda: 0.0,
            handover=Handover(self.clock.wall() + RUN_SECONDS, 60.0),
        )
        self.started = self.clock.monotonic()

    def run(self, *, until_published: int = 1) -> RunResult:
        """Run until there are this many publications, or until RUN_SECONDS have passed."""

        def stopped() -> bool:
            return len(self.publications) >= until_published or self.seconds >= RUN_SECONDS

        return Watcher(
            self.elector,
            self.cluster,
            self.table,
            clock=self.clock,
            sleep=self.clock.advance,
            stopped=stopped,
            new_id=new_id,
            on_published=lambda publication: self.publications.append((self.seconds, publication)),
        ).run()

    @property
    def seconds(self) -> float:
        return self.clock.monotonic() - self.started

    def _send(self, request: AWSPreparedRequest) -> AWSResponse | None:
        with self._lock:  # moto is not thread-safe
            self.clock.advance(CALL_SECONDS)
            return send_throttled(self.guard, request, lambda request: self._moto("before-send", request))


@pytest.fixture
def throttled() -> Iterator[Throttled]:
    throttled = Throttled()
    create_cache_table(throttled.client, TABLE)
    yield throttled
    throttled.client.delete_table(TableName=TABLE)


@pytest.mark.parametrize(("nodes", "within"), [(5_000, 4.0), (15_000, 12.0)])
def test_first_publication_keeps_lease_and_writes_chunks_once(throttled: Throttled, nodes: int, within: float) -> None:
    objects = large_nodes(nodes)
    throttled.cluster.send("nodes", Listed(objects, "1"))
    throttled.cluster.send("pods", Listed((), "1"))
    result = throttled.run()
    assert result.outcome is not WatcherOutcome.DEPOSED, result
    # The ids decide which chunks share a partition. If the head shares one with chunks, a heartbeat may follow.
    seconds, publication = throttled.publications[0]
    assert publication.epoch == 0
    assert seconds < within
    tally = throttled.guard.tally
    chunks = {key: count for key, count in tally.written.items() if key[0].startswith("snapshot#")}
    assert set(chunks.values()) == {1}
    assert tally.calls_per_write("PutItem") < MOST_CALLS_PER_WRITE
    head = throttled.table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.snapshot is not None
    assert len(head.pointer.snapshot.indexes(ALL_PARTS)) == len(chunks)
    throttled.clock.advance(60.0)
    reader = NodeCacheReader(throttled.table, ObjectsView(), throttled.clock.advance)
    assert len(reader.at(head)) == nodes
