"""The store fixture of the lease contract on the emulators."""

from __future__ import annotations

import pytest

from tests.unit.lease.dynamodb_stores import EmulatorStore


@pytest.fixture
def store(concurrent_dynamodb_url: str) -> EmulatorStore:
    return EmulatorStore(concurrent_dynamodb_url)
