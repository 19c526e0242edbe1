"""The adapters for a function's settings, built once per warm environment. Building one reads nothing."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from uuid import uuid4

from botocore.config import Config

from berth.configuration.counting import CountingConfiguration
from berth.configuration.counting_loss import CountingLossCheck
from berth.configuration.store import Configurations, ConfigurationStore
from berth.lease.clock import SystemClock
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.reservations.bind.reservations import LedgerReservations
from berth.reservations.ledger.table import LedgerTable
from berth.runtime.settings import BindSettings, PolicySettings
from berth.runtime.tables import Tables, tables
from berth.runtime.telemetry.metrics import CacheMetrics
from berth.scheduling.evaluation.time_limit import TimeLimit

MOST_SECONDS = 0.5
"""The timeout of connecting, and of each read."""


def counting_configuration(settings: BindSettings) -> CountingConfiguration | None:
    """None where the function has no ledger. Building it reads nothing."""
    if not settings.ledger_table:
        return None
    # A reservation is two calls, and the Binding needs its time, too. Nothing is repeated by the client: bind does
    # that itself, as long as there is time.
    seconds = min(MOST_SECONDS, (settings.http_timeout - 1) / 6)
    calls = Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1})
    adapters = cache_adapters(settings.policy, calls)
    ledger = adapters.tables.ledger
    assert ledger is not None  # the settings name its table
    reservations = LedgerReservations(ledger, lambda: uuid4().hex, time.time, call_seconds=2 * seconds)
    return CountingConfiguration(
        adapters.tables.cache.configuration_hash,
        adapters.configurations,
        reservations,
        SystemClock(),
        log.warning,
        _counting_loss_check(ledger, adapters.tables.configuration),
    )


# A verb has the scheduler's httpTimeout, 5 s by default, for everything; two attempts of a second fit into it.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})

log = logging.getLogger("berth")


@dataclass(frozen=True, slots=True)
class CacheAdapters:
    """The tables, and the applied configuration.

    loss: None where there is no ledger.
    """

    tables: Tables
    configurations: Configurations
    loss: CountingLossCheck | None = None


def cache_adapters(settings: PolicySettings, calls: Config = CALLS) -> CacheAdapters:
    """`calls`: how long each call of a table may take."""
    opened = tables(settings, calls)
    store, ledger = opened.configuration, opened.ledger
    loss = None if ledger is None else _counting_loss_check(ledger, store)
    limit = TimeLimit(settings.decision_seconds, time.monotonic, time.time)
    configurations = Configurations(store, settings.deployed, settings.remembered_bytes, limit)
    return CacheAdapters(opened, configurations, loss)


def _counting_loss_check(ledger: LedgerTable, store: ConfigurationStore) -> CountingLossCheck:
    return CountingLossCheck(ledger.marker, store.counting_is_stopped, SystemClock())


def node_cache(settings: PolicySettings, verb: str) -> WarmNodeCache:
    """The node cache, as this verb reads it."""
    adapters = cache_adapters(settings)
    reader = NodeCacheReader(adapters.tables.cache, SnapshotView(), time.sleep)
    return WarmNodeCache(
        adapters.tables.cache,
        reader,
        adapters.configurations,
        SystemClock(),
        log.warning,
        adapters.tables.ledger,
        CacheMetrics(verb).record,
        adapters.loss,
    )
