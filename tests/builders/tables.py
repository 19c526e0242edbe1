"""Tables with the keys that template.yaml gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


def create_cache_table(client: DynamoDBClient, name: str) -> None:
    """Create a table for the node cache and the lease: sk is a number."""
    create_table(client, name, "N")


def create_ledger_table(client: DynamoDBClient, name: str) -> None:
    """Create a table for the ledger: sk is a string."""
    create_table(client, name, "S")


def create_table(client: DynamoDBClient, name: str, sort_key: Literal["N", "S"]) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": sort_key},
        ],
    )
