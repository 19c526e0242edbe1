"""One emulator for all tests of this folder, and on it the store that the lease's contract asks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deployment.emulator import COMMAND, Emulator
from tests.unit.lease.dynamodb_stores import EmulatorStore


@pytest.fixture(scope="session")
def endpoint_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where ministack answers."""
    if not COMMAND.exists():
        pytest.skip("ministack is not installed: make tools")
    with Emulator(tmp_path_factory.mktemp("ministack")) as emulator:
        yield emulator.endpoint_url


@pytest.fixture
def store(endpoint_url: str) -> EmulatorStore:
    """A table of its own."""
    return EmulatorStore(endpoint_url)
