"""The two copies of the applied document in DynamoDB: which one is used after a loss, and how the other is restored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import CACHE_KEY, LEDGER_KEY, DynamoDBConfigurationStore
from berth.configuration.store import hash_of
from berth.dynamodb import HEAD_KEY, TableUnavailable
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.ledger import new_ledger
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from tests.builders.tables import create_cache_table, create_ledger_table

CACHE, LEDGER = "copies-cache", "copies-ledger"
FIRST, SECOND = '{"profile": "full"}', '{"profile": "label-priority"}'


@dataclass(frozen=True, slots=True)
class Tables:
    """Both tables, and the store that keeps a copy of the document in each table."""

    client: DynamoDBClient
    store: DynamoDBConfigurationStore

    def copies(self) -> tuple[str | None, str | None]:
        return self._document(CACHE, CACHE_KEY), self._document(LEDGER, LEDGER_KEY)

    def announced(self) -> str:
        return DynamoDBCacheTable(self.client, CACHE).configuration_hash()

    def lose(self, *items: tuple[str, Any]) -> None:
        for table, key in items:
            self.client.delete_item(TableName=table, Key=key)

    def keep_item(self, table: str, key: Any) -> Any:
        return self.client.get_item(TableName=table, Key=key)["Item"]

    def _document(self, table: str, key: Any) -> str | None:
        return self.client.get_item(TableName=table, Key=key).get("Item", {}).get("document", {}).get("S")


@pytest.fixture
def tables(any_dynamodb: DynamoDBClient) -> Iterator[Tables]:
    create_cache_table(any_dynamodb, CACHE)
    create_ledger_table(any_dynamodb, LEDGER)
    yield Tables(any_dynamodb, DynamoDBConfigurationStore(any_dynamodb, CACHE, LEDGER))
    for name in (CACHE, LEDGER):
        any_dynamodb.delete_table(TableName=name)


CACHE_COPY, LEDGER_COPY, HEAD = (CACHE, CACHE_KEY), (LEDGER, LEDGER_KEY), (CACHE, HEAD_KEY)


def test_apply_writes_both_copies_and_the_head(tables: Tables) -> None:
    for document in (FIRST, SECOND, SECOND):
        tables.store.apply(document)
        assert (*tables.copies(), tables.announced()) == (document, document, hash_of(document))


@pytest.mark.parametrize(
    ("lost", "repaired"),
    [
        pytest.param((), "", id="nothing"),
        pytest.param((HEAD,), "", id="the head"),
        pytest.param((CACHE_COPY,), "the ledger's copy is in force: the cache table had none", id="the cache's copy"),
        pytest.param((CACHE_COPY, HEAD), "the ledger's copy is in force: the cache table had none", id="cache's items"),
        pytest.param((LEDGER_COPY,), "the cache table's copy is in force: the ledger's table had none", id="ledger's"),
        pytest.param(
            (LEDGER_COPY, HEAD),
            "the cache table's copy is in force: the ledger's table had none",
            id="the ledger's copy and the head",
        ),
    ],
)
def test_restore_recovers_the_lost_copies(tables: Tables, lost: tuple[tuple[str, Any], ...], repaired: str) -> None:
    tables.store.apply(FIRST)
    tables.store.apply(SECOND)
    tables.lose(*lost)
    assert tables.store.restore() == repaired
    assert (*tables.copies(), tables.announced()) == (SECOND, SECOND, hash_of(SECOND))
    assert tables.store.restore() == ""


def test_applies_a_document_after_an_interrupted_apply(tables: Tables) -> None:
    """The interrupted apply was recorded but is not in force."""
    tables.store.apply(FIRST)
    in_force = tables.keep_item(*CACHE_COPY), tables.keep_item(*LEDGER_COPY)
    tables.store.apply(SECOND)
    for (table, _), item in zip((CACHE_COPY, LEDGER_COPY), in_force, strict=True):
        tables.client.put_item(TableName=table, Item=item)
    tables.store.apply(FIRST)
    assert [each.version for each in tables.store.history()] == [3, 2, 1]
    assert (*tables.copies(), tables.announced()) == (FIRST, FIRST, hash_of(FIRST))


def test_reads_the_copy_in_the_ledger_if_the_copy_in_the_cache_is_lost(tables: Tables) -> None:
    tables.store.apply(FIRST)
    tables.lose(CACHE_COPY)
    assert tables.store.read() == FIRST


@pytest.mark.parametrize("old", [CACHE_COPY, LEDGER_COPY], ids=["the cache's copy is old", "the ledger's copy is old"])
def test_of_two_different_copies_the_last_applied_is_in_force(tables: Tables, old: tuple[str, Any]) -> None:
    """The copies differ after an interrupted `apply`, or if a table was restored from a backup."""
    tables.store.apply(FIRST)
    item = tables.keep_item(*old)
    tables.store.apply(SECOND)
    tables.client.put_item(TableName=old[0], Item=item)
    assert "copy is in force" in tables.store.restore()
    assert (*tables.copies(), tables.announced()) == (SECOND, SECOND, hash_of(SECOND))


def test_document_applied_without_the_ledger_is_newer_than_the_ledgers_copy(tables: Tables) -> None:
    tables.store.apply(FIRST)
    DynamoDBConfigurationStore(tables.client, CACHE).apply(SECOND)
    assert tables.store.restore() == "the cache table's copy is in force: the ledger's was applied before it"
    assert (*tables.copies(), tables.announced()) == (SECOND, SECOND, hash_of(SECOND))
    tables.store.apply(FIRST)
    assert tables.copies() == (FIRST, FIRST)


def test_both_copies_record_that_counting_was_stopped(tables: Tables) -> None:
    assert not tables.store.counting_is_stopped()
    tables.store.apply(FIRST, stops_counting=True)
    assert tables.store.counting_is_stopped()
    tables.lose(LEDGER_COPY)
    tables.store.restore()
    assert tables.store.counting_is_stopped()
    tables.store.apply(SECOND)
    assert not tables.store.counting_is_stopped()


def test_reads_of_the_ledger_do_not_return_the_configuration_copy(tables: Tables) -> None:
    tables.store.apply(FIRST)
    ledger = DynamoDBLedgerTable(tables.client, LEDGER)
    ledger.create(new_ledger("n1", {"example.com/slot": 2}, {}, 1))
    assert [each.owner for each in ledger.nodes()] == ["n1"]
    assert list(ledger.open_reservations()) == []
    assert ledger.marker() is None


def test_missing_ledger_table_is_reported_with_its_remedy(tables: Tables) -> None:
    store = DynamoDBConfigurationStore(tables.client, CACHE, "absent")
    for method in (store.counting_is_stopped, lambda: store.apply(FIRST), store.restore):
        with pytest.raises(TableUnavailable, match="ledger table absent: the table does not exist"):
            method()
    assert tables.copies() == (None, None)
