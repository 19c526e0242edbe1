"""Metrics of the watcher: its publications, the age of its data, and the events of reservations and gangs.

It publishes twice a second; sums are printed every 15 s, and at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock

from berth.runtime.telemetry.metrics import COUNT, FAILURES, HAPPENING, SECONDS, Metrics, group
from berth.upkeep.gangs import GangEvent, GangEventType
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType

INTERVAL_SECONDS = 15.0
"""Several times a minute, so that every minute with publications has a metric of them."""

PUBLISHED = group([[]], {"PublishedAge": SECONDS})
LEFT_OUT = group([[]], {"LeftOut": COUNT})
LEADERSHIPS = group([[]], {"LeaseTransitions": COUNT})
ALARMED_RESERVATIONS = group([[HAPPENING]], {"Reservations": COUNT})

PUBLISHED_IN_DETAIL = group([[]], {"Publications": COUNT, "Changes": COUNT, "PublishedAge": SECONDS})
RESERVATIONS_IN_DETAIL = group([[HAPPENING], []], {"Reservations": COUNT})
GANGS_IN_DETAIL = group([[HAPPENING], []], {"Gangs": COUNT})
COMMIT_TIME = group([[]], {"GangCommitTime": SECONDS})

ALARMED_EVENTS = frozenset({ReservationEventType.OWED.value, ReservationEventType.OUTRANKED.value})
"""Events that alarms of every stack count."""

MAX_VALUES = 100
"""CloudWatch accepts this many values of a metric in one line."""


class WatcherMetrics:
    """The metrics of one run. Two threads call it: the one that publishes and the one that reconciles."""

    def __init__(
        self,
        wall: Callable[[], float],
        metrics: Metrics | None = None,
        on_gang: Callable[[GangEvent], None] = lambda _: None,
    ) -> None:
        """wall: seconds since the epoch. on_gang: called with each event of a gang."""
        self._wall = wall
        self._on_gang = on_gang
        self._metrics = metrics or Metrics()
        self._lock = Lock()
        self._printed_at: float | None = None
        self._changes: list[int] = []
        self._oldest = 0.0
        self._left_out = 0
        self._happened: Counter[str] = Counter()
        self._gangs: Counter[str] = Counter()
        self._commit_times: list[float] = []

    def became_leader(self) -> None:
        if self._metrics.detailed:
            self._metrics.emit([LEADERSHIPS], {}, {"LeaseTransitions": [1.0]}, self._wall())

    def published(self, changes: int, observed_at: float, left_out: int = 0) -> None:
        """Count a publication; a heartbeat has 0 changes. observed_at: its data's, in seconds since the epoch.
        left_out: objects that the cache lacks, or has without some of their fields."""
        now = self._wall()
        with self._lock:
            self._changes.append(changes)
            self._oldest = max(self._oldest, now - observed_at)
            self._left_out = max(self._left_out, left_out)
        if self._printed_at is None or abs(now - self._printed_at) >= INTERVAL_SECONDS:
            self._print(now)

    def happened(self, event: ReservationEvent) -> None:
        with self._lock:
            self._happened[event.type.value] += 1

    def gang(self, event: GangEvent) -> None:
        self._on_gang(event)
        if not self._metrics.detailed:
            return
        with self._lock:
            self._gangs[event.type.value] += 1
            if event.type is GangEventType.COMMITTED:
                self._commit_times.append(event.seconds)

    def close(self) -> None:
        self._print(self._wall())

    def _print(self, now: float) -> None:
        detailed = self._metrics.detailed
        with self._lock:
            changes, self._changes = self._changes, []
            oldest, self._oldest = self._oldest, 0.0
            left_out, self._left_out = self._left_out, 0
            happened, self._happened = self._happened, Counter()
            gangs, self._gangs = self._gangs, Counter()
            commit_times, self._commit_times = self._commit_times[:MAX_VALUES], []
            self._printed_at = now
        if changes:
            values = {"Publications": [float(len(changes))], "Changes": [float(sum(changes))], "PublishedAge": [oldest]}
            self._metrics.emit([PUBLISHED_IN_DETAIL if detailed else PUBLISHED], {}, values, now)
        if left_out:
            # The alarm Failures counts it.
            values = {"LeftOut": [float(left_out)], "Failures": [1.0]}
            self._metrics.emit([FAILURES, *([LEFT_OUT] if detailed else [])], {}, values, now)
        reservations = RESERVATIONS_IN_DETAIL if detailed else ALARMED_RESERVATIONS
        for event_type, times in sorted(happened.items()):
            if detailed or event_type in ALARMED_EVENTS:
                self._metrics.emit([reservations], {HAPPENING: event_type}, {"Reservations": [float(times)]}, now)
        for gang_event, times in sorted(gangs.items()):
            self._metrics.emit([GANGS_IN_DETAIL], {HAPPENING: gang_event}, {"Gangs": [float(times)]}, now)
        if commit_times:
            self._metrics.emit([COMMIT_TIME], {}, {"GangCommitTime": commit_times}, now)
