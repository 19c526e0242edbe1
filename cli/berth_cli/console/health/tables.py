"""The tables behind a console, as far as it has any. They are read only."""

from __future__ import annotations

from dataclasses import dataclass

from berth.configuration.counting_loss import CountingLossCheck
from berth.configuration.store import Configurations
from berth.lease.lock import LeaseLock
from berth.nodecache.feed.table import CacheTable
from berth.reservations.ledger.table import LedgerTable
from berth.runtime.adapters import CacheAdapters


@dataclass(frozen=True, slots=True)
class ConsoleTables:
    """ledger, loss: None where there is no ledger."""

    cache: CacheTable
    head_lock: LeaseLock
    configurations: Configurations
    ledger: LedgerTable | None = None
    loss: CountingLossCheck | None = None

    @classmethod
    def of(cls, adapters: CacheAdapters) -> ConsoleTables:
        """Those of `berth serve` in this process."""
        opened = adapters.tables
        return cls(opened.cache, opened.head_lock, adapters.configurations, opened.ledger, adapters.loss)
