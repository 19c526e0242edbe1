"""The first publication of 5,000 nodes in real time: the watcher's own client, and DynamoDB Local behind a new table's
throughput. tests/unit/nodecache/feed/test_throttled_publication.py has the limits; here only calls are counted."""

from __future__ import annotations

import random
import time

import pytest
from botocore.config import Config
from botocore.httpsession import URLLib3Session

from berth.lease.clock import SystemClock
from berth.lease.config import LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.cluster import Listed
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.leader import Publication
from berth.nodecache.feed.observed_state import ObjectsView
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.watcher import Watcher
from berth.runtime.adapters import CALLS
from tests.builders.tables import create_cache_table
from tests.fakes.throttled_dynamodb import NewTable, send_throttled
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.lease.dynamodb_stores import client_of
from tests.unit.nodecache.feed.feeds import new_id
from tests.unit.nodecache.feed.scripted_cluster import ScriptedCluster
from tests.unit.nodecache.feed.test_throttled_publication import large_nodes

pytestmark = pytest.mark.external

NODES = 5_000
TABLE = "throttled-for-real"


def test_watcher_publishes_to_a_throttling_table_and_writes_each_chunk_once(dynamodb_local_url: str) -> None:
    guard = NewTable(time.monotonic)
    session = URLLib3Session()
    # A shared machine may pause: only throttling is to fail here, so the timeouts are longer than the watcher's.
    config = CALLS.merge(Config(read_timeout=30))
    client = client_of(lambda request: send_throttled(guard, request, session.send), dynamodb_local_url, config=config)
    create_cache_table(client, TABLE)
    cluster = ScriptedCluster(EnvironmentClock())
    cluster.send("nodes", Listed(large_nodes(NODES), "1"))
    cluster.send("pods", Listed((), "1"))
    publications: list[Publication] = []
    elector = LeaderElector(
        DynamoDBLeaseLock(client, TABLE), LeaderElectionConfig(), "watcher-1", SystemClock(), random.random
    )
    table = DynamoDBCacheTable(client, TABLE)
    started = time.monotonic()
    Watcher(
        elector,
        cluster,
        table,
        clock=SystemClock(),
        sleep=time.sleep,
        stopped=lambda: bool(publications),
        new_id=new_id,
        on_published=publications.append,
        once=True,
    ).run()
    assert [publication.epoch for publication in publications] == [0]
    head = table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.snapshot is not None
    chunks = [count for key, count in guard.tally.written.items() if key[0].startswith("snapshot#")]
    assert chunks == [1] * head.pointer.snapshot.chunks
    assert len(NodeCacheReader(table, ObjectsView(), time.sleep).at(head)) == NODES
    print(f"{time.monotonic() - started:.1f} s, {guard.tally.calls_per_write('PutItem'):.2f} calls per chunk")
    assert guard.tally.calls_per_write("PutItem") < 3.0
