"""The adapters for bind, built once per warm environment. Building one reads nothing.

A module of its own: the verbs that do not bind start without what reserves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as cached
from functools import partial
from random import random
from typing import TYPE_CHECKING
from uuid import uuid4

from botocore.config import Config

from berth.announcements.bind import LogAnnouncements
from berth.configuration.counting import REFRESH_SECONDS, CountingConfiguration
from berth.extender.ports import GangBarrier, NodeCache
from berth.lease.clock import SystemClock
from berth.ledger_holder.store_identity import StoreIdentity
from berth.nodecache.binds_under_way import BindsUnderWay
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.reservations.bind.reservations import LedgerReservations
from berth.reservations.ledger.table import LedgerTable
from berth.runtime.adapters import cache_adapters, counting_loss_check
from berth.runtime.settings import BindSettings
from berth.runtime.telemetry.metrics import CacheMetrics

if TYPE_CHECKING:
    from berth.gangs.table import GangTable

CALL_SECONDS = 0.5
"""The longest that bind waits for a connection to a table, and for each read."""

log = logging.getLogger("berth")


@dataclass(frozen=True, slots=True)
class BindAdapters:
    """The rules of the configuration in force, and the identity of the ledger; None where there is no ledger."""

    configuration: CountingConfiguration | None = None
    identity: StoreIdentity | None = None


def _new_id() -> str:
    return uuid4().hex


def _gang_barrier(
    open_table: Callable[[], GangTable], ledger: LedgerTable, cache: NodeCache, call_seconds: float
) -> GangBarrier:
    # Imported where gangs are enabled: a cold start without them does not need it.
    from berth.gangs.bind.barrier import GangTableBarrier

    return GangTableBarrier(
        open_table(),
        ledger,
        cache,
        new_id=_new_id,
        wall=time.time,
        sleep=time.sleep,
        call_seconds=call_seconds,
    )


def bind_adapters(settings: BindSettings) -> BindAdapters:
    """Building them reads nothing."""
    if not settings.ledger_table:
        return BindAdapters()
    # A reservation is two calls, and the Binding needs its time, too. Nothing is repeated by the client: bind does that
    # itself, as long as there is time.
    seconds = min(CALL_SECONDS, (settings.http_timeout - 1) / 6)
    calls = Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1})
    adapters = cache_adapters(settings.policy, calls)
    ledger = adapters.tables.ledger
    assert ledger is not None  # the settings name its table
    reservations = LedgerReservations(ledger, _new_id, time.time, call_seconds=2 * seconds)
    announcement_log, gangs = adapters.tables.announcements, adapters.tables.gangs
    # They are in the ledger's table.
    assert announcement_log is not None
    assert gangs is not None
    # Reservations are for another judgement: the ledger's own.
    cache = WarmNodeCache(
        adapters.tables.cache,
        adapters.reader,
        adapters.configurations,
        SystemClock(),
        log.warning,
        BindsUnderWay(None, adapters.announcements, adapters.placed),
        CacheMetrics("bind", time.time).record,
        reads=adapters.reads,
        latest_only=True,
    )
    configuration = CountingConfiguration(
        adapters.tables.cache.configuration_hash,
        adapters.configurations,
        reservations,
        SystemClock(),
        log.warning,
        counting_loss_check(ledger, adapters.tables.configuration),
        LogAnnouncements(announcement_log, cache, _new_id, time.time, time.sleep, random),
        cached(partial(_gang_barrier, gangs, ledger, cache, 2 * seconds)),
        refresh_seconds=0.0 if adapters.tables.in_process else REFRESH_SECONDS,
    )
    return BindAdapters(configuration, adapters.tables.identity)
