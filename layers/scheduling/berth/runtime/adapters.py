"""The adapters for a function's settings, built once per warm environment, without reading tables."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from botocore.config import Config

from berth.configuration.store import Configurations, ConfigurationStore, CountingLossCheck
from berth.extender.deadline import BoundedReads
from berth.extender.ports import OpenGangs, no_open_gangs
from berth.lease.clock import SystemClock
from berth.ledger.announcements import AnnouncementReader
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.binds_under_way import BegunBinds, BindsUnderWay
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.runtime.aws_clients import CALLS
from berth.runtime.settings import PolicySettings, deployed
from berth.runtime.tables import Tables, table_opener
from berth.runtime.telemetry.metrics import CacheMetrics
from berth.scheduling.evaluation.time_limit import TimeLimit
from berth.scheduling.snapshot.parts import Parts
from berth.scheduling.snapshot.snapshot import PlacedPods

if TYPE_CHECKING:
    from berth.ledger.gangs.table import TableOpenGangs

log = logging.getLogger("berth")


@dataclass(frozen=True, slots=True)
class CacheAdapters:
    """The tables, and the readers of the snapshot and of the applied configuration. placed: links successive snapshots
    with assumed pods. loss: None without a ledger. begun: None if the tables are not in this process."""

    tables: Tables
    reader: NodeCacheReader[CachedCluster]
    configurations: Configurations
    placed: PlacedPods
    loss: CountingLossCheck | None = None
    begun: BegunBinds | None = None

    def announcements(self, wall: Callable[[], float] | None = None) -> AnnouncementReader | None:
        log = self.tables.announcements
        return None if log is None else AnnouncementReader(log, wall)

    @property
    def reads(self) -> BoundedReads:
        return BoundedReads(is_never_late=self.tables.in_process)

    def under_way(self, verb: str = "") -> BindsUnderWay:
        """Return the binds under way for this verb. Only prioritize counts binds of other processes as soon as they
        begin: filter would reject nodes because of pods that bind may still reject."""
        if self.begun is None and verb == "prioritize":
            return BindsUnderWay(self.tables.ledger, self.announcements(time.time), self.placed, BegunBinds())
        return BindsUnderWay(self.tables.ledger, self.announcements(), self.placed, self.begun)

    def node_cache(
        self,
        under_way: BindsUnderWay,
        on_read: Callable[[float], None] = lambda age: None,
        on_fallback: Callable[[], None] = lambda: None,
        *,
        is_for_bind: bool = False,
    ) -> WarmNodeCache:
        """Return a node cache of these tables. is_for_bind: each read is consistent, and bind itself checks whether the
        applied configuration was lost."""
        return WarmNodeCache(
            self.tables.cache,
            self.reader,
            self.configurations,
            SystemClock(),
            log.warning,
            under_way,
            on_read,
            None if is_for_bind else self.loss,
            self.reads,
            on_fallback,
            latest_only=is_for_bind,
            pause=time.sleep if self.tables.in_process else None,
        )


def cache_adapters(settings: PolicySettings, calls: Config = CALLS) -> CacheAdapters:
    return _shared_adapters(*_arguments(settings, calls))


def _arguments(settings: PolicySettings, calls: Config) -> tuple[Tables, str, int, float]:
    opened = table_opener()(settings, calls)
    return opened, settings.configuration, settings.remembered_bytes, settings.decision_seconds


def _new_adapters(opened: Tables, configuration: str, remembered_bytes: int, decision_seconds: float) -> CacheAdapters:
    store, ledger = opened.configuration, opened.ledger
    reader = NodeCacheReader(opened.cache, SnapshotView(), time.sleep)
    limit = TimeLimit(decision_seconds, time.monotonic, time.time)
    configurations = Configurations(store, partial(deployed, configuration), remembered_bytes, limit, log.warning)
    loss = None if ledger is None else counting_loss_check(ledger, store)
    begun = BegunBinds() if opened.in_process else None
    return CacheAdapters(opened, reader, configurations, PlacedPods(), loss, begun)


# Verbs of one process with the same tables share a snapshot and the cached verdicts: a snapshot of 150,000 pods takes
# 200 MB and more than a second.
_shared_adapters = lru_cache(maxsize=1)(_new_adapters)


def counting_loss_check(ledger: LedgerTable, store: ConfigurationStore) -> CountingLossCheck:
    # An eventually consistent read suffices: the marker is much older than the loss of a configuration.
    return CountingLossCheck(ledger.marker_eventually, store.counting_is_stopped, SystemClock())


def node_cache(settings: PolicySettings, verb: str) -> WarmNodeCache:
    adapters, metrics = cache_adapters(settings), CacheMetrics(verb, time.time)
    return adapters.node_cache(adapters.under_way(verb), metrics.record, metrics.fell_back)


def trial_cache(settings: PolicySettings) -> Callable[[Parts], WarmNodeCache]:
    """Return a factory of node caches, each for one trial of a configuration. Call this while the function's module is
    imported: the tables are known only then. Parts that this environment has not loaded are read for the trial only:
    otherwise its calls would have to read all later changes of these parts."""
    arguments = _arguments(settings, CALLS)
    shared = _shared_adapters(*arguments)

    def for_trial(reads: Parts) -> WarmNodeCache:
        adapters = shared if shared.reader.parts >= reads else _new_adapters(*arguments)
        return adapters.node_cache(adapters.under_way())

    return for_trial


def open_gangs(settings: PolicySettings) -> OpenGangs:
    """Return a view of the gangs that are being bound, for filter. This does not read the table."""
    adapters = cache_adapters(settings)
    gangs, reads = adapters.tables.gangs, adapters.reads
    if gangs is None:
        return no_open_gangs

    @cache
    def opened() -> TableOpenGangs:
        # Import and open the table for the first member of a gang: a cold start without gangs does not need it.
        from berth.ledger.gangs.table import TableOpenGangs

        return TableOpenGangs(gangs(), time.time, reads.before, log.warning)

    return lambda deadline: opened().open_gangs(deadline)
