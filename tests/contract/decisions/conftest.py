"""A cache table on each emulator of DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from tests.builders.tables import create_cache_table
from tests.unit.ledger.nodes.ledger_tables import CONCURRENT, MOTO, dynamodb_client


@pytest.fixture(params=[MOTO, *CONCURRENT])
def client(request: pytest.FixtureRequest) -> DynamoDBClient:
    return dynamodb_client(request.param, request)


@pytest.fixture
def name(client: DynamoDBClient) -> Iterator[str]:
    name = f"cache-{uuid4().hex[:8]}"
    create_cache_table(client, name)
    yield name
    client.delete_table(TableName=name)
