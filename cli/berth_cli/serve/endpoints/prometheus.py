"""Metrics in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock

from berth.upkeep.gangs import GangEvent, GangEventType

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds in seconds. kube-scheduler waits for 5 s by default (fact 5)."""

COMMIT_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Of gangs: members may come one after the other."""

CALLS = "berth_call_duration_seconds"
NO_NODE_FITS = "berth_no_node_fits_total"
GANG_EVENTS = "berth_gang_events_total"
GANG_COMMITS = "berth_gang_commit_seconds"


class _Series:
    """How many values fell into each bucket; the last one has no bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        """bounds: upper ones, in seconds."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """One more value."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._seconds += seconds

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Its samples, without the header."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield _sample(f"{name}_bucket", {**labels, "le": bound}, total)
        yield _sample(f"{name}_sum", labels, round(self._seconds, 6))
        yield _sample(f"{name}_count", labels, total)


class CallDurations:
    """A histogram by verb and outcome, and the calls that no node fits by reason. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._series: dict[tuple[str, str], _Series] = {}
        self._no_node_fits: Counter[tuple[str, str]] = Counter()

    def record(self, verb: str, outcome: str, milliseconds: float, reason_code: str = "") -> None:
        """A call has ended. reason_code: of the reason that rejects most nodes, where no node fits."""
        seconds = milliseconds / 1000
        with self._lock:
            self._series.setdefault((verb, str(outcome)), _Series(BUCKETS)).add(seconds)
            if reason_code:
                self._no_node_fits[verb, str(reason_code)] += 1

    def lines(self) -> Iterator[str]:
        """The histogram, whose `_count` is the number of calls, and the counter of calls that no node fits."""
        yield from _header(CALLS, "histogram", "Duration of calls by verb and outcome.")
        with self._lock:
            found = [
                line
                for (verb, outcome), series in sorted(self._series.items())
                for line in series.lines(CALLS, {"verb": verb, "outcome": outcome})
            ]
            no_node_fits = sorted(self._no_node_fits.items())
        yield from found
        found_by_reason = [({"verb": verb, "reason_code": code}, number) for (verb, code), number in no_node_fits]
        yield from counter(NO_NODE_FITS, "Calls that no node fits, by the code of the main reason.", found_by_reason)


class GangEvents:
    """What became of gangs, and how long their commits took. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._events: Counter[str] = Counter()
        self._commits = _Series(COMMIT_BUCKETS)

    def record(self, event: GangEvent) -> None:
        """The watcher of this process has found it."""
        with self._lock:
            self._events[event.type.value] += 1
            if event.type is GangEventType.COMMITTED:
                self._commits.add(event.seconds)

    def lines(self) -> Iterator[str]:
        """A counter of events, and a histogram."""
        with self._lock:
            events = [({"happening": each.value}, self._events[each.value]) for each in GangEventType]
            commits = list(self._commits.lines(GANG_COMMITS, {}))
        yield from counter(GANG_EVENTS, "What became of gangs.", events)
        yield from _header(GANG_COMMITS, "histogram", "From the first member in bind to the commit of its gang.")
        yield from commits


def counter(name: str, description: str, values: Iterable[tuple[Mapping[str, str], int]]) -> Iterator[str]:
    """A metric that only grows, with a sample for each set of labels."""
    yield from _header(name, "counter", description)
    for labels, value in values:
        yield _sample(name, labels, value)


def gauge(name: str, description: str, value: float, labels: Mapping[str, str] | None = None) -> Iterator[str]:
    """A metric that goes up and down, with one sample."""
    yield from _header(name, "gauge", description)
    yield _sample(name, labels or {}, value)


def gauges(name: str, description: str, label: str, values: Mapping[str, float]) -> Iterator[str]:
    """The same, with a sample for each value of a label."""
    yield from _header(name, "gauge", description)
    for text, value in values.items():
        yield _sample(name, {label: text}, value)


def _header(name: str, kind: str, description: str) -> Iterator[str]:
    yield f"# HELP {name} {description}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """Label values here are names of verbs, outcomes, states and versions, which need no escape."""
    shown = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"
