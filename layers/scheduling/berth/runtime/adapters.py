"""The adapters for a function's settings, built once per warm environment. Building one reads nothing."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import boto3
from botocore.config import Config

from berth.configuration.counting import CountingConfiguration
from berth.configuration.counting_loss import CountingLossCheck
from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import Configurations, ConfigurationStore
from berth.lease.clock import SystemClock
from berth.ledger_holder.store_identity import DynamoDBStoreIdentity, StoreIdentity
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.reservations.bind.reservations import LedgerReservations
from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.table import LedgerTable
from berth.runtime.settings import BindSettings, LedgerSettings, PolicySettings
from berth.runtime.telemetry.metrics import CacheMetrics
from berth.scheduling.evaluation.time_limit import TimeLimit

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


MOST_SECONDS = 0.5
"""The timeout of connecting, and of each read."""


def store_identity(settings: BindSettings) -> StoreIdentity:
    """Of the ledger that bind reserves in. Building it reads nothing."""
    return DynamoDBStoreIdentity(boto3.client("dynamodb", config=_bind_calls(settings)[0]), settings.ledger_table)


def _bind_calls(settings: BindSettings) -> tuple[Config, float]:
    """A reservation is two calls, and the Binding needs its time, too. Nothing is repeated by the client: bind does
    that itself, as long as there is time. Also the timeout of connecting, and of each read, in seconds."""
    seconds = min(MOST_SECONDS, (settings.http_timeout - 1) / 6)
    return Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1}), seconds


def counting_configuration(settings: BindSettings) -> CountingConfiguration | None:
    """None where the function has no ledger. Building it reads nothing."""
    if not settings.ledger_table:
        return None
    calls, seconds = _bind_calls(settings)
    adapters = cache_adapters(settings.policy, calls)
    table = DynamoDBLedgerTable(boto3.client("dynamodb", config=calls), settings.ledger_table)
    reservations = LedgerReservations(table, lambda: uuid4().hex, time.time, call_seconds=2 * seconds)
    return CountingConfiguration(
        adapters.table.configuration_hash,
        adapters.configurations,
        reservations,
        SystemClock(),
        log.warning,
        _counting_loss_check(table, adapters.store),
    )


# A verb has the scheduler's httpTimeout, 5 s by default, for everything; two attempts of a second fit into it.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})

log = logging.getLogger("berth")


@dataclass(frozen=True, slots=True)
class CacheAdapters:
    """The adapters of the cache table: head, log and snapshots, and the applied configuration.

    loss: None where there is no ledger.
    """

    client: DynamoDBClient
    table: DynamoDBCacheTable
    store: DynamoDBConfigurationStore
    configurations: Configurations
    loss: CountingLossCheck | None = None


def cache_adapters(settings: PolicySettings, calls: Config = CALLS) -> CacheAdapters:
    """All of one client; `calls`: how long each may take."""
    client = boto3.client("dynamodb", config=calls)
    store = DynamoDBConfigurationStore(client, settings.cache_table, settings.ledger_table)
    table = DynamoDBCacheTable(client, settings.cache_table)
    ledger = ledger_table(settings, client)
    loss = None if ledger is None else _counting_loss_check(ledger, store)
    limit = TimeLimit(settings.decision_seconds, time.monotonic, time.time)
    configurations = Configurations(store, settings.deployed, settings.remembered_bytes, limit)
    return CacheAdapters(client, table, store, configurations, loss)


def _counting_loss_check(ledger: LedgerTable, store: ConfigurationStore) -> CountingLossCheck:
    return CountingLossCheck(ledger.marker, store.counting_is_stopped, SystemClock())


def node_cache(settings: PolicySettings, verb: str) -> WarmNodeCache:
    """The node cache, as this verb reads it."""
    adapters = cache_adapters(settings)
    reader = NodeCacheReader(adapters.table, SnapshotView(), time.sleep)
    ledger = ledger_table(settings, adapters.client)
    return WarmNodeCache(
        adapters.table,
        reader,
        adapters.configurations,
        SystemClock(),
        log.warning,
        ledger,
        CacheMetrics(verb).record,
        adapters.loss,
    )


def ledger_table(settings: LedgerSettings, client: DynamoDBClient) -> LedgerTable | None:
    """The ledger of counted resources, where there is one."""
    return DynamoDBLedgerTable(client, settings.ledger_table) if settings.ledger_table else None
