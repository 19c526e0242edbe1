"""The store fixture of the lease contract on the emulator."""

from __future__ import annotations

import pytest

from tests.unit.lease.dynamodb_stores import EmulatorStore


@pytest.fixture
def store(endpoint_url: str) -> EmulatorStore:
    """A new table."""
    return EmulatorStore(endpoint_url)
