"""The health of an installation whose tables can be read. They are read only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from berth.configuration.counting_loss import CountingLossCheck
from berth.configuration.store import Configurations
from berth.dynamodb_errors import TableUnavailable
from berth.lease.clock import Clock
from berth.lease.lock import LeaseLock, Unavailable
from berth.lease.record import MalformedLease
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.table import CacheTable
from berth.nodecache.health import health
from berth.nodecache.staleness import StalenessReason
from berth.reservations.ledger.table import LedgerTable
from berth.runtime.adapters import CacheAdapters
from berth_cli.console.health.source import MOST_RESERVATIONS, HealthSource
from berth_cli.reservations.claims import NotCompared
from berth_cli.reservations.report import document


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


class TableHealth(HealthSource):
    """Each question reads the tables anew: a few read units, and the whole ledger."""

    def __init__(self, tables: ConsoleTables, clock: Clock) -> None:
        self._tables, self._clock = tables, clock
        self._staleness = StalenessReason(clock)

    def facts(self, wall: float) -> Mapping[str, object]:
        tables = self._tables
        _, cache = health(tables.cache, tables.configurations, self._clock, self._staleness, tables.loss)
        return {
            "cache": cache,
            "published": _read(lambda: _published(tables, wall)),
            "leader": _read(lambda: _leader(tables, wall)),
            "reservations": _read(lambda: _reservations(tables, wall)),
        }


def _read(question: Callable[[], Mapping[str, object] | None]) -> Mapping[str, object] | None:
    """One table that cannot be read must not hide the others."""
    try:
        return question()
    except (TableUnavailable, MalformedLease) as error:
        return {"problem": str(error)}


def _published(tables: ConsoleTables, wall: float) -> Mapping[str, object] | None:
    head = tables.cache.head()
    pointer: Pointer | None = None if head is None else head.pointer
    if pointer is None or pointer.unreadable_reason:
        return None
    snapshot = pointer.snapshot
    return {
        "version": pointer.version,
        "heartbeatAgeSeconds": round(wall - pointer.heartbeat, 1),
        "logBytes": pointer.log_bytes,
        "snapshotBytes": None if snapshot is None else snapshot.size,
        "snapshotAgeSeconds": None if snapshot is None else round(wall - snapshot.written_at, 1),
        "resources": {
            name: {"ageSeconds": round(wall - each.observed_at, 1), "listedAgeSeconds": round(wall - each.listed_at, 1)}
            for name, each in sorted(pointer.observation.positions.items())
        },
    }


def _leader(tables: ConsoleTables, wall: float) -> Mapping[str, object] | None:
    lease = tables.head_lock.get()
    if isinstance(lease, Unavailable):
        return {"problem": lease.reason}
    if lease is None:
        return None
    spec = lease.spec
    return {
        "holder": spec.holder_identity,
        "renewedSecondsAgo": round(wall - spec.renew_time, 1),
        "leaseDurationSeconds": spec.lease_duration_seconds,
        "transitions": spec.lease_transitions,
    }


def _reservations(tables: ConsoleTables, wall: float) -> Mapping[str, object] | None:
    if tables.ledger is None:
        return None
    ledgers, announced = tables.ledger.nodes(), tables.ledger.open_reservations()
    found: Any = document(ledgers, announced, wall, NotCompared("not read"))["reservations"]
    return {
        "count": len(found),
        "open": len(announced),
        "owed": sum(1 for ledger in ledgers if any(ledger.owed.values())),
        "rebuilding": sum(1 for ledger in ledgers if ledger.avail is None),
        "reservations": found[:MOST_RESERVATIONS],
    }
