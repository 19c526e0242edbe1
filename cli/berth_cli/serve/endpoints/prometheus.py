"""Metrics in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds in seconds. kube-scheduler waits for 5 s by default (fact 5)."""

CALLS = "berth_call_duration_seconds"
NO_NODE_FITS = "berth_no_node_fits_total"


@dataclass(slots=True)
class _Series:
    """How many calls fell into each bucket; the last one has no bound."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0


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
            series = self._series.setdefault((verb, str(outcome)), _Series())
            series.counts[bisect_left(BUCKETS, seconds)] += 1
            series.seconds += seconds
            if reason_code:
                self._no_node_fits[verb, str(reason_code)] += 1

    def lines(self) -> Iterator[str]:
        """The histogram, whose `_count` is the number of calls, and the counter of calls that no node fits."""
        yield from _header(CALLS, "histogram", "Duration of calls by verb and outcome.")
        with self._lock:
            found = [(key, list(series.counts), series.seconds) for key, series in sorted(self._series.items())]
            no_node_fits = sorted(self._no_node_fits.items())
        for (verb, outcome), counts, seconds in found:
            labels = {"verb": verb, "outcome": outcome}
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                yield _sample(f"{CALLS}_bucket", {**labels, "le": bound}, total)
            yield _sample(f"{CALLS}_sum", labels, round(seconds, 6))
            yield _sample(f"{CALLS}_count", labels, total)
        found_by_reason = [({"verb": verb, "reason_code": code}, number) for (verb, code), number in no_node_fits]
        yield from counter(NO_NODE_FITS, "Calls that no node fits, by the code of the main reason.", found_by_reason)


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
