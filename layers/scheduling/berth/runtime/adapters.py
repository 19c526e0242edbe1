"""Adapters as the settings ask for them, built once per warm environment. Building one reads nothing."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from berth.lease.clock import SystemClock
from berth.nodecache.configurations import Configurations
from berth.nodecache.dynamodb_configuration import DynamoDBConfigurationStore
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.reservations.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.table import LedgerTable
from berth.runtime.cache_metrics import CacheMetrics
from berth.runtime.settings import LedgerSettings, PolicySettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

# A verb has the scheduler's httpTimeout, 5 s by default, for everything; two attempts of a second fit into it.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})

log = logging.getLogger("berth")


@dataclass(frozen=True, slots=True)
class CacheAdapters:
    """What lies in the cache table: the head with log and snapshots, and the applied configuration."""

    client: DynamoDBClient
    table: DynamoDBCacheTable
    store: DynamoDBConfigurationStore
    configurations: Configurations


def cache_adapters(settings: PolicySettings, calls: Config = CALLS) -> CacheAdapters:
    """All of one client; `calls`: how long each may take."""
    client = boto3.client("dynamodb", config=calls)
    store = DynamoDBConfigurationStore(client, settings.cache_table)
    table = DynamoDBCacheTable(client, settings.cache_table)
    return CacheAdapters(client, table, store, Configurations(store, settings.deployed))


def node_cache(settings: PolicySettings, verb: str) -> WarmNodeCache:
    """The node cache, as this verb reads it."""
    adapters = cache_adapters(settings)
    reader = NodeCacheReader(adapters.table, SnapshotView(), time.sleep)
    ledger = ledger_table(settings, adapters.client)
    return WarmNodeCache(
        adapters.table, reader, adapters.configurations, SystemClock(), log.warning, ledger, CacheMetrics(verb).seen
    )


def ledger_table(settings: LedgerSettings, client: DynamoDBClient) -> LedgerTable | None:
    """The ledger of counted resources, where there is one."""
    return DynamoDBLedgerTable(client, settings.ledger_table) if settings.ledger_table else None
