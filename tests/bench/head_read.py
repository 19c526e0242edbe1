"""The cost of one read of the head in this process, with boto3 and the embedded table, without a network."""

from __future__ import annotations

from collections.abc import Iterator

import boto3

from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth_cli.serve.embedded_dynamodb import CACHE_TABLE, EmbeddedDynamoDB
from tests.bench.figures import Family, Figure, Timed, milliseconds


def families() -> Iterator[Family]:
    """Informative: on Lambda the network's millisecond takes the place of the embedded table's."""
    yield Family("cache.head_read", _measure)


def _measure() -> Iterator[Figure]:
    EmbeddedDynamoDB().install()
    table = DynamoDBCacheTable(boto3.client("dynamodb"), CACHE_TABLE)
    [read] = milliseconds(Timed(table.head))
    yield Figure("cache.head_read.embedded", read, "ms")
