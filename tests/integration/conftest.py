"""The emulators of DynamoDB that serve several clients at once."""

from __future__ import annotations

import pytest

from tests.unit.ledger.nodes.ledger_tables import CONCURRENT, emulator_url


@pytest.fixture(params=CONCURRENT)
def concurrent_dynamodb_url(request: pytest.FixtureRequest) -> str:
    return emulator_url(request.param, request)
