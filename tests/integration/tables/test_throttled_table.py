"""A table that throttles, in real time: the functions' own clients, and a proxy before DynamoDB Local.

It has the throughput of a new on-demand table. tests/unit/nodecache/feed/test_throttled_publication.py has the limits
in virtual time; here calls are counted, and the answers of a verb are read.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import botocore.session
import pytest
from botocore.config import Config
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.extender.deadline import Deadline
from berth.extender.ports import CacheUnavailable
from berth.lease.clock import SystemClock
from berth.lease.config import LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.cluster import Listed
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.leader import ObjectsView, Publication
from berth.nodecache.feed.reader import ATTEMPTS, DEADLINE_PASSED, NodeCacheReader
from berth.nodecache.feed.watcher import Watcher
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.runtime import adapters, aws_clients
from berth.runtime.adapters import CALLS, node_cache
from berth.runtime.settings import PolicySettings
from berth.scheduling.snapshot.parts import ALL_PARTS
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.tables import create_cache_table, create_ledger_table
from tests.deployment.throttling_proxy import ThrottlingProxy
from tests.fakes.throttled_dynamodb import NewTable
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.nodecache.feed.feeds import new_id
from tests.unit.nodecache.feed.scripted_cluster import ScriptedCluster
from tests.unit.nodecache.feed.test_throttled_publication import large_nodes

pytestmark = pytest.mark.external

NODES = 5_000
TABLE, LEDGER = "throttled-for-real", "throttled-ledger"
CALL_SECONDS = 4.0
"""Of the scheduler's httpTimeout."""
PAUSE = 30
"""Seconds that a call of the watcher may take."""


@dataclass(frozen=True)
class Throttled:
    """The tables behind the proxy. `down`: set, nothing is admitted."""

    guard: NewTable
    down: threading.Event
    client: DynamoDBClient
    publications: list[Publication]

    @property
    def table(self) -> DynamoDBCacheTable:
        return DynamoDBCacheTable(self.client, TABLE)

    def calls(self) -> int:
        return sum(self.guard.tally.calls.values())


@pytest.fixture(scope="module")
def throttled(dynamodb_local_url: str) -> Iterator[Throttled]:
    """After the first publication of a large cluster."""
    down = threading.Event()
    guard = NewTable(time.monotonic, down=down.is_set)
    with ThrottlingProxy(dynamodb_local_url, guard) as proxy, pytest.MonkeyPatch.context() as patch:
        session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
        session.set_credentials("test", "test")
        patch.setattr(aws_clients, "SESSION", session)
        patch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint_url)
        # A shared machine may pause: of the watcher's calls only throttled ones are to fail, and none ends its lease.
        client = aws_clients.aws_client("dynamodb", CALLS.merge(Config(connect_timeout=PAUSE, read_timeout=PAUSE)))
        create_cache_table(client, TABLE)
        create_ledger_table(client, LEDGER)
        found = Throttled(guard, down, client, [])
        _publish(found)
        yield found
        client.delete_table(TableName=TABLE)
        client.delete_table(TableName=LEDGER)


def _publish(throttled: Throttled) -> None:
    cluster = ScriptedCluster(EnvironmentClock(time.time()))
    cluster.send("nodes", Listed(large_nodes(NODES), "1"))
    cluster.send("pods", Listed((), "1"))
    lease = LeaderElectionConfig(lease_duration=3 * PAUSE, renew_deadline=2 * PAUSE)
    elector = LeaderElector(
        DynamoDBLeaseLock(throttled.client, TABLE), lease, "watcher-1", SystemClock(), random.random
    )
    ends, causes = time.monotonic() + 4 * PAUSE, list[str]()
    result = Watcher(
        elector,
        cluster,
        throttled.table,
        clock=SystemClock(),
        sleep=time.sleep,
        stopped=lambda: bool(throttled.publications) or time.monotonic() > ends,
        new_id=new_id,
        on_published=throttled.publications.append,
        on_trouble=causes.append,
    ).run()
    assert throttled.publications, (result, causes)


def environment() -> WarmNodeCache:
    """A new one of a verb, as its function composes it."""
    adapters._shared_adapters.cache_clear()
    settings = PolicySettings(cache_table=TABLE, ledger_table=LEDGER)
    return node_cache(settings, "filter")


def answer(cache: WarmNodeCache) -> Snapshot | CacheUnavailable:
    return cache.current(Deadline(CALL_SECONDS, time.monotonic)).cluster


@pytest.fixture
def outage(throttled: Throttled) -> Iterator[Callable[[], None]]:
    yield throttled.down.set
    throttled.down.clear()


def test_watcher_publishes_and_writes_each_chunk_once(throttled: Throttled) -> None:
    assert [publication.epoch for publication in throttled.publications] == [0]
    head = throttled.table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.snapshot is not None
    written = throttled.guard.tally.written
    chunks = [count for key, count in written.items() if key[0].startswith(f"snapshot#{head.pointer.snapshot.id}#")]
    assert chunks == [1] * len(head.pointer.snapshot.indexes(ALL_PARTS))
    assert len(NodeCacheReader(throttled.table, ObjectsView(), time.sleep).at(head)) == NODES
    assert throttled.guard.tally.calls_per_write("PutItem") < 3.0


def test_verb_without_a_snapshot_says_that_the_table_throttles(
    throttled: Throttled, outage: Callable[[], None]
) -> None:
    cache = environment()
    outage()
    before = throttled.calls()
    found = answer(cache)
    assert isinstance(found, CacheUnavailable)
    assert found.reason == f"node cache table {TABLE}: the table is throttled (ThrottlingException)"
    assert throttled.calls() - before == 2, "the client repeats a call once"


def test_verb_decides_by_its_snapshot_while_the_table_throttles(
    throttled: Throttled, outage: Callable[[], None]
) -> None:
    cache = environment()
    cache.catch_up()
    outage()
    before = throttled.calls()
    found = answer(cache)
    assert isinstance(found, Snapshot)
    assert len(found.nodes) == NODES
    assert throttled.calls() - before <= 4, "the head and the ledger's marker, each twice"


def test_cold_environments_share_what_the_table_admits(throttled: Throttled) -> None:
    """They read the snapshot at once, which is more than a second's read units."""
    head = throttled.table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.snapshot is not None
    caches = [environment() for _ in range(12)]
    before = throttled.calls()
    with ThreadPoolExecutor(len(caches)) as threads:
        found = list(threads.map(answer, caches))
    reasons = {each.reason for each in found if isinstance(each, CacheUnavailable)}
    assert all(each == DEADLINE_PASSED or each.startswith(f"node cache table {TABLE}: ") for each in reasons)
    reads = 2 * (1 + ATTEMPTS * len(head.pointer.snapshot.indexes(ALL_PARTS)))
    assert throttled.calls() - before <= len(caches) * reads
