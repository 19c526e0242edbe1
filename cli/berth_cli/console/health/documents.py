"""`/api/health`: what `/healthz` answers, the leader, what is published, and the reservations.

Each question reads the tables anew: a few read units, and the whole ledger. The page asks every few seconds while it
shows the answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock

import orjson

from berth.dynamodb_errors import TableUnavailable
from berth.lease.clock import Clock
from berth.lease.lock import Unavailable
from berth.lease.record import MalformedLease
from berth.nodecache.feed.head import Pointer
from berth.nodecache.health import health
from berth.nodecache.staleness import StalenessReason
from berth_cli.console.documents.feed import Feed
from berth_cli.console.health.tables import ConsoleTables
from berth_cli.console.http.access import Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.reservations.report import document, rows

HEALTH = "/api/health"
MOST_SAMPLES = 300
SAMPLE_SECONDS = 2.0
KEPT_SECONDS = 1.5
"""Pages that ask at the same time get one answer."""

MOST_RESERVATIONS = 500


class HealthDocuments:
    """tables: None for a dump or a cluster: these have neither cache nor ledger."""

    def __init__(
        self,
        feed: Feed,
        tables: ConsoleTables | None,
        clock: Clock,
        monotonic: Callable[[], float],
    ) -> None:
        """`monotonic`: seconds."""
        self._feed, self._tables, self._clock, self._monotonic = feed, tables, clock, monotonic
        self._staleness = StalenessReason(clock)
        self._lock = Lock()
        self._samples: deque[tuple[float, float, int]] = deque(maxlen=MOST_SAMPLES)
        self._sampled_at = -SAMPLE_SECONDS
        self._last: tuple[float, bytes] | None = None

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {HEALTH: self.health}

    def health(self, _: Query) -> bytes | Refusal:
        """Everything that is known now, and how old the data was at earlier questions."""
        with self._lock:
            now = self._monotonic()
            if self._last is None or now - self._last[0] > KEPT_SECONDS:
                self._last = now, orjson.dumps(self._content(now))
            return self._last[1]

    def _content(self, now: float) -> dict[str, object]:
        wall = self._clock.wall()
        condition = self._feed.condition
        found: dict[str, object] = {"console": condition.document(wall)}
        if self._tables is not None:
            found |= self._of_tables(self._tables, wall)
        age = condition.document(wall)["ageSeconds"]
        if isinstance(age, float) and now - self._sampled_at >= SAMPLE_SECONDS:
            self._sampled_at = now
            self._samples.append((round(wall, 1), round(age, 2), condition.sequence))
        # Time, age of the data, number of changes so far.
        return found | {"samples": list(self._samples)}

    def _of_tables(self, tables: ConsoleTables, wall: float) -> dict[str, object]:
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
    if pointer is None or not pointer.is_readable:
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
    found = rows(ledgers, announced, wall)
    return {
        "count": len(found),
        "open": len(announced),
        "owed": sum(1 for ledger in ledgers if any(ledger.owed.values())),
        "rebuilding": sum(1 for ledger in ledgers if ledger.avail is None),
        "reservations": document(found[:MOST_RESERVATIONS], (), compared=False)["reservations"],
    }
