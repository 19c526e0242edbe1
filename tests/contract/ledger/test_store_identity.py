"""Contract of the port StoreIdentity, on every implementation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth.ledger.lease import DynamoDBStoreIdentity, StoreIdentity
from berth_cli.server.store.embedded_store import EmbeddedStore, InMemoryStoreIdentity
from tests.fakes.ledger_lease import IdentityInMemory
from tests.unit.ledger.nodes.ledger_tables import ALL, IN_MEMORY, dynamodb_client, new_table

STORED = "store-1"


@pytest.fixture(params=ALL)
def new(request: pytest.FixtureRequest) -> Iterator[StoreIdentity]:
    """Yield the StoreIdentity of a table in which no identity was ever stored."""
    if request.param == IN_MEMORY:
        yield IdentityInMemory()
        return
    client = dynamodb_client(request.param, request)
    name = new_table(client)
    yield DynamoDBStoreIdentity(client, name)
    client.delete_table(TableName=name)


@pytest.fixture(params=["the store of berth serve", *ALL])
def stored(request: pytest.FixtureRequest) -> Iterator[StoreIdentity]:
    """Yield the StoreIdentity of a table in which an identity is stored."""
    if request.param == "the store of berth serve":
        yield InMemoryStoreIdentity(STORED)
        return
    if request.param == IN_MEMORY:
        yield IdentityInMemory(STORED)
        return
    client = dynamodb_client(request.param, request)
    name = new_table(client)
    identity = DynamoDBStoreIdentity(client, name)
    assert identity.put_if_absent(STORED)
    yield identity
    client.delete_table(TableName=name)


def test_new_table_keeps_the_first_identity_that_is_written(new: StoreIdentity) -> None:
    assert new.get() is None
    assert new.put_if_absent("first")
    assert not new.put_if_absent("second")
    assert new.get() == "first"


def test_identity_is_never_replaced(stored: StoreIdentity) -> None:
    assert not stored.put_if_absent("other")
    assert stored.get() == STORED


def test_two_stores_of_berth_serve_have_different_identities() -> None:
    assert EmbeddedStore().identity != EmbeddedStore().identity
