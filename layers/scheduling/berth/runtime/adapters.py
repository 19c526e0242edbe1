"""Adapters as the settings ask for them, built once per warm environment. Building one reads nothing."""

from __future__ import annotations

import time

import boto3
from botocore.config import Config

from berth.nodecache.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.reader import NodeCacheReader
from berth.runtime.settings import CacheSettings

# A verb has the scheduler's httpTimeout, 5 s by default, for everything; two attempts of a second fit into it.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})


def cache_table(settings: CacheSettings) -> DynamoDBCacheTable:
    """The node cache's table."""
    return DynamoDBCacheTable(boto3.client("dynamodb", config=CALLS), settings.cache_table)


def node_cache(settings: CacheSettings) -> NodeCacheReader:
    """The reader of the node cache."""
    return NodeCacheReader(cache_table(settings), time.sleep)
