"""The store that the lease's contract asks for, on the emulator."""

from __future__ import annotations

import pytest

from tests.unit.lease.dynamodb_stores import EmulatorStore


@pytest.fixture
def store(endpoint_url: str) -> EmulatorStore:
    """A table of its own."""
    return EmulatorStore(endpoint_url)
