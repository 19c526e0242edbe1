"""Every case runs on every implementation of the lock."""

from __future__ import annotations

import pytest

from tests.unit.lease.dynamodb_stores import MotoStore
from tests.unit.lease.stores import InMemoryStore, LeaseStore

STORES = {"in memory": InMemoryStore, "moto": MotoStore}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> LeaseStore:
    return STORES[request.param]()
