"""Metrics of the watcher: its publications, the age of its data, and the events of reservations and gangs.

It publishes twice a second; sums are printed every 15 s, and at its end.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

from berth.runtime.environment import set_until_end
from berth.runtime.telemetry.metrics import COUNT, FAILURES, HAPPENING, SECONDS, Group, Metrics, group
from berth.runtime.telemetry.telemetry import SERVICE
from berth.upkeep.gangs import GangEvent, GangEventType
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType

INTERVAL_SECONDS = 15.0
"""Several times a minute, so that every minute with publications has a metric of them."""

PUBLISHED = group([[]], {"PublishedAge": SECONDS})
UNDECIDED = group([[]], {"UndecidedAge": SECONDS})
CERTIFICATES = group([[]], {"DaysToExpiry": COUNT})
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

DAY_SECONDS = 86_400.0

NOTICE_DAYS = 30
"""DaysToExpiry is written below this value only. CloudWatch charges for a metric in hours in which it is written."""

GangObserver = Callable[[GangEvent], None]


def _log_trouble(cause: str) -> None:
    if cause:
        logging.getLogger(SERVICE).warning("the watcher cannot work, and tries again: %s", cause)


@dataclass(frozen=True, slots=True)
class WatcherObserver:
    """Observes watchers, from any thread. gang: gets each event of a gang. trouble: see Watcher's on_trouble."""

    gang: GangObserver = lambda _: None
    trouble: Callable[[str], None] = _log_trouble


_observer: ContextVar[WatcherObserver | None] = ContextVar("watcher_observer", default=None)


def watchers_observed_by(observer: WatcherObserver) -> AbstractContextManager[None]:
    """Let watchers that are loaded until the block ends use the observer as long as they live."""
    return set_until_end(_observer, observer)


def watcher_observer() -> WatcherObserver:
    return _observer.get() or WatcherObserver()


class WatcherMetrics:
    """The metrics of one run. Two threads call it: the one that publishes and the one that reconciles."""

    def __init__(
        self, wall: Callable[[], float], metrics: Metrics | None = None, on_gang: GangObserver = lambda _: None
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
        self._is_undecided = False

    def became_leader(self) -> None:
        if self._metrics.detailed:
            self._metrics.emit([LEADERSHIPS], {}, {"LeaseTransitions": [1.0]}, self._wall())

    def published(self, changes: int, observed_at: float, left_out: int = 0) -> None:
        """Count a publication; a heartbeat has 0 changes. observed_at: its data's, in seconds since the epoch.

        left_out: objects that the cache lacks, or has without some of their fields.
        """
        now = self._wall()
        with self._lock:
            self._changes.append(changes)
            self._oldest = max(self._oldest, now - observed_at)
            self._left_out = max(self._left_out, left_out)
        if self._printed_at is None or abs(now - self._printed_at) >= INTERVAL_SECONDS:
            self._print(now)

    def scheduler_access(self, undecided: float, certificate: float | None) -> None:
        """Print what shows that schedulers cannot call the verbs. undecided: seconds that a pod waits; 0 if none does.
        certificate: seconds until a client certificate ends; None if unknown."""
        groups, values = list[Group](), dict[str, list[float]]()
        if undecided or self._is_undecided:  # a last 0, because the alarm looks at the smallest value of a minute
            groups.append(UNDECIDED)
            values["UndecidedAge"] = [undecided]
        self._is_undecided = undecided > 0
        if certificate is not None and certificate < NOTICE_DAYS * DAY_SECONDS:
            groups.append(CERTIFICATES)
            values["DaysToExpiry"] = [certificate / DAY_SECONDS]
        if groups:
            self._metrics.emit(groups, {}, values, self._wall())

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
        """Print the metrics that have not been printed yet."""
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
            # The alarm on failures notices it.
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
