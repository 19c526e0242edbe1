"""The emulators of DynamoDB on which the contract tests of an adapter run."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from tests.unit.ledger.nodes.ledger_tables import MOTO, ON_DYNAMODB_LOCAL, dynamodb_client


@pytest.fixture(params=[MOTO, ON_DYNAMODB_LOCAL])
def any_dynamodb(request: pytest.FixtureRequest) -> DynamoDBClient:
    return dynamodb_client(request.param, request)
