"""What DynamoDB's errors mean where the table is the node cache's."""

from __future__ import annotations

from contextlib import AbstractContextManager

from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb.errors import TableUnavailable, Told


def told(table: str) -> AbstractContextManager[None]:
    """Errors of the block as TableUnavailable."""
    return _cache(table).errors()


def unavailable(table: str, error: ClientError | BotoCoreError) -> TableUnavailable:
    """The error with its cause and remedy."""
    return _cache(table).unavailable(error)


def _cache(table: str) -> Told:
    return Told("node cache", table, "BERTH_CACHE_TABLE")
