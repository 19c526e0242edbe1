"""What DynamoDB's errors mean for an operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from berth.nodecache.feed.table import TableUnavailable

# Anything else is told in DynamoDB's own words.
_REMEDIES = {
    "ResourceNotFoundException": "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE to its table",
    "AccessDeniedException": "the function's role lacks a permission on the table",
    "ProvisionedThroughputExceededException": "the table is throttled",
    "ThrottlingException": "the table is throttled",
    "UnrecognizedClientException": "the AWS credentials are not valid",
    "ExpiredTokenException": "the AWS credentials have expired",
}


@contextmanager
def told(table: str) -> Iterator[None]:
    """Errors of the block as TableUnavailable."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise unavailable(table, error) from error


def unavailable(table: str, error: ClientError | BotoCoreError) -> TableUnavailable:
    """The error with its cause and remedy."""
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
    return TableUnavailable(f"node cache table {table}: {_REMEDIES.get(code, str(error))} ({code})")
