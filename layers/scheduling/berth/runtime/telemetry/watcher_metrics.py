"""Metrics of the watcher: its publications, the age of its data, and the events of reservations.

The watcher may publish several times a second; a line is printed every 15 s, and at the end of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock

from berth.runtime.telemetry.metrics import COUNT, FAILURES, HAPPENING, SECONDS, Metrics, group
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType

INTERVAL_SECONDS = 15.0
"""Seconds between two lines: short, so that every minute with publications has a metric."""

PUBLISHED = group([[]], {"PublishedAge": SECONDS})
RESERVATIONS = group([[HAPPENING]], {"Reservations": COUNT})

ALARMED_EVENTS = frozenset({ReservationEventType.OWED, ReservationEventType.OUTRANKED})
"""The events that alarms of every stack count."""


class WatcherMetrics:
    """The metrics of one run, for the threads that publish, reconcile, and hold the Lease of the ledger."""

    def __init__(self, wall: Callable[[], float], metrics: Metrics | None = None) -> None:
        """Prepare the metrics. wall: returns the seconds since the epoch."""
        self._wall = wall
        self._metrics = metrics or Metrics()
        self._lock = Lock()
        self._printed_at: float | None = None
        self._oldest: float | None = None
        self._is_incomplete = False
        self._happened: Counter[str] = Counter()

    def published(self, observed_at: float, *, is_incomplete: bool = False) -> None:
        """Count a publication. observed_at: the time of its data, in seconds since the epoch. is_incomplete: whether
        the cache lacks objects, or some of their fields."""
        now = self._wall()
        with self._lock:
            self._oldest = max(self._oldest or 0.0, now - observed_at)
            self._is_incomplete = self._is_incomplete or is_incomplete
        if self._printed_at is None or abs(now - self._printed_at) >= INTERVAL_SECONDS:
            self._print(now)

    def happened(self, event: ReservationEvent) -> None:
        if self._metrics.detailed or event.type in ALARMED_EVENTS:
            with self._lock:
                self._happened[event.type.value] += 1

    def close(self) -> None:
        self._print(self._wall())

    def _print(self, now: float) -> None:
        with self._lock:
            oldest, self._oldest = self._oldest, None
            is_incomplete, self._is_incomplete = self._is_incomplete, False
            happened, self._happened = self._happened, Counter()
            self._printed_at = now
        if oldest is not None:
            self._metrics.emit([PUBLISHED], {}, {"PublishedAge": [oldest]}, now)
        if is_incomplete:
            # The alarm Failures counts it.
            self._metrics.emit([FAILURES], {}, {"Failures": [1.0]}, now)
        for event_type, times in sorted(happened.items()):
            self._metrics.emit([RESERVATIONS], {HAPPENING: event_type}, {"Reservations": [float(times)]}, now)
