"""Contract of the port ConfigurationStore, in memory and on DynamoDB. The tests use only the port and the head."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import boto3
import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import AppliedVersion, ConfigurationStore, hash_of
from berth.dynamodb import HEAD_KEY
from berth.lease.config import ElectionOutcome, LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.lease.lock import LeaseLock
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth_cli.server.store.cache_table import InMemoryCacheTable, InMemoryConfigurationStore
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.builders.tables import create_cache_table
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.ledger.nodes.ledger_tables import IN_MEMORY, MOTO, ON_DYNAMODB_LOCAL, dynamodb_client

TABLE = "configuration-store"
FIRST, SECOND = '{"profile": "full"}', '{"profile": "label-priority"}'


@dataclass(frozen=True, slots=True)
class Kept:
    """A store, the table with the head, a lock for leader election, and a function that deletes the head."""

    store: ConfigurationStore
    table: CacheTable
    lock: LeaseLock
    delete_head: Callable[[], None]

    def announced(self) -> str:
        head = self.table.head()
        return "" if head is None else head.configuration_hash

    def plugins(self) -> str:
        head = self.table.head()
        return "" if head is None else head.plugin_version

    def elector(self) -> LeaderElector:
        return LeaderElector(self.lock, LeaderElectionConfig(), "watcher", EnvironmentClock(), lambda: 0.0)


@pytest.fixture(params=[IN_MEMORY, MOTO, ON_DYNAMODB_LOCAL])
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    if request.param == IN_MEMORY:
        item = InMemoryItem()
        yield Kept(
            InMemoryConfigurationStore(item),
            InMemoryCacheTable(item),
            InMemoryLeaseLock(item, lambda: "id"),
            item.delete,
        )
        return
    client = dynamodb_client(request.param, request)
    create_cache_table(client, TABLE)
    yield Kept(
        DynamoDBConfigurationStore(client, TABLE),
        DynamoDBCacheTable(client, TABLE),
        DynamoDBLeaseLock(client, TABLE),
        lambda: _delete(client),
    )
    client.delete_table(TableName=TABLE)


def _delete(client: DynamoDBClient) -> None:
    client.delete_item(TableName=TABLE, Key=HEAD_KEY)


def test_new_table_is_without_an_applied_configuration(kept: Kept) -> None:
    assert kept.store.read() is None
    assert kept.announced() == ""


def test_reads_and_announces_last_applied_configuration(kept: Kept) -> None:
    for document in (FIRST, SECOND, SECOND):
        kept.store.apply(document)
        assert (kept.store.read(), kept.announced()) == (document, hash_of(document))


def test_apply_before_the_first_watcher_does_not_block_leader_election(kept: Kept) -> None:
    kept.store.apply(FIRST)
    assert kept.elector().step().outcome is ElectionOutcome.BECAME_LEADER
    assert kept.announced() == hash_of(FIRST)


def test_apply_does_not_change_the_lease(kept: Kept) -> None:
    elector = kept.elector()
    elector.step()
    before = kept.lock.get()
    kept.store.apply(FIRST)
    assert kept.lock.get() == before


def test_announces_again_after_head_is_deleted(kept: Kept) -> None:
    kept.store.apply(FIRST)
    kept.delete_head()
    assert kept.announced() == ""
    kept.store.restore()
    assert kept.announced() == hash_of(FIRST)


def test_restore_without_a_document_does_not_announce_a_configuration(kept: Kept) -> None:
    kept.store.restore()
    assert kept.announced() == ""


def test_restore_keeps_a_configuration_that_is_already_announced(kept: Kept) -> None:
    kept.store.apply(FIRST)
    kept.store.restore()
    assert kept.announced() == hash_of(FIRST)


def test_keeps_the_last_ten_documents_newest_first(kept: Kept) -> None:
    for number in range(12):
        kept.store.apply(
            f'{{"profile": "full", "exempt": {{"namespaces": ["n{number}"]}}}}', at=float(number), note="x"
        )
    found = kept.store.history()
    assert [each.version for each in found] == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
    assert found[0] == AppliedVersion(12, str(kept.store.read()), 11.0, "x")
    assert '"n2"' in found[-1].document


def test_history_of_a_new_table_is_empty(kept: Kept) -> None:
    assert kept.store.history() == ()


def test_reports_missing_table_with_remedy(dynamodb: DynamoDBClient) -> None:
    store = DynamoDBConfigurationStore(boto3.client("dynamodb"), "absent")
    for method in (store.read, lambda: store.apply(FIRST), store.restore):
        with pytest.raises(TableUnavailable, match="node cache table absent: the table does not exist"):
            method()


@pytest.mark.parametrize(
    ("document", "plugin_version"),
    [
        pytest.param(FIRST, "1.1.0+b", id="the same document with other plugins"),
        pytest.param(FIRST, "", id="the same document with unknown plugins"),
        pytest.param(SECOND, "1.1.0+b", id="another document with other plugins"),
        pytest.param(SECOND, "", id="another document without plugins"),
    ],
)
def test_head_lists_the_plugins_of_the_document(kept: Kept, document: str, plugin_version: str) -> None:
    kept.store.apply(FIRST, plugin_version="1.0.0+a")
    assert (kept.announced(), kept.plugins()) == (hash_of(FIRST), "1.0.0+a")
    kept.store.apply(document, plugin_version=plugin_version)
    assert (kept.announced(), kept.plugins()) == (hash_of(document), plugin_version)
    assert [each.plugin_version for each in kept.store.history()] == [plugin_version, "1.0.0+a"]


def test_restored_head_lists_the_plugins_of_the_document(kept: Kept) -> None:
    kept.store.apply(FIRST, plugin_version="1.0.0+a")
    kept.delete_head()
    kept.store.restore()
    assert (kept.announced(), kept.plugins()) == (hash_of(FIRST), "1.0.0+a")


def test_reads_are_consistent(dynamodb: DynamoDBClient) -> None:
    create_cache_table(dynamodb, TABLE)
    reads: list[bool] = []
    dynamodb.meta.events.register(
        "provide-client-params.dynamodb.GetItem", lambda params, **_: reads.append(params.get("ConsistentRead", False))
    )
    store = DynamoDBConfigurationStore(dynamodb, TABLE)
    store.read()
    store.history()
    assert set(reads) == {True}
