"""Empty tables of each implementation of the ledger's table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import LedgerTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.tables import create_ledger_table

IN_MEMORY, MOTO, MINISTACK, DYNAMODB_LOCAL = "in memory", "moto", "ministack", "DynamoDB Local"
ON_DYNAMODB_LOCAL = pytest.param(DYNAMODB_LOCAL, marks=pytest.mark.external)
CONCURRENT = (pytest.param(MINISTACK, marks=pytest.mark.external), ON_DYNAMODB_LOCAL)
ALL = (IN_MEMORY, MOTO, *CONCURRENT)

_NUMBERS = count(1)


@contextmanager
def ledger_table(kind: str, request: pytest.FixtureRequest) -> Iterator[LedgerTable]:
    """Create a table for the test alone; skip the test if its emulator is not installed."""
    if kind == IN_MEMORY:
        yield InMemoryLedgerTable()
        return
    client = dynamodb_client(kind, request)
    name = new_table(client)
    yield DynamoDBLedgerTable(client, name)
    client.delete_table(TableName=name)


def dynamodb_client(kind: str, request: pytest.FixtureRequest) -> DynamoDBClient:
    """Return a client of the emulator; skip the test if the emulator is not installed."""
    if kind == MOTO:
        client: DynamoDBClient = request.getfixturevalue("dynamodb")
        return client
    return emulator_client(emulator_url(kind, request))


def emulator_url(kind: str, request: pytest.FixtureRequest) -> str:
    """Return the URL of an emulator for several concurrent clients; skip the test if it is not installed."""
    url: str = request.getfixturevalue("endpoint_url" if kind == MINISTACK else "dynamodb_local_url")
    return url


@cache
def emulator_client(endpoint_url: str, *, connections: int = 10) -> DynamoDBClient:
    """Return a client of a separate session: the default one may belong to an embedded DynamoDB."""
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1")
    client: DynamoDBClient = session.client(
        "dynamodb",
        endpoint_url=endpoint_url,
        config=Config(
            connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 1}, max_pool_connections=connections
        ),
    )
    return client


def new_table(client: DynamoDBClient) -> str:
    """Create a ledger table as in template.yaml, and return its name."""
    name = f"ledger-{next(_NUMBERS)}-{uuid4().hex[:8]}"
    create_ledger_table(client, name)
    return name
