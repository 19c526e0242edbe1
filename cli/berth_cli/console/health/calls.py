"""How many calls there were over time, and how long they took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

MOST_INTERVALS = 60
SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 600)
"""How long an interval may be: the shortest with which all calls fit."""


@dataclass(frozen=True, slots=True)
class Call:
    """at: its end, in seconds since the epoch."""

    at: float
    verb: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class CallsOfVerb:
    """By interval, the oldest first: the number of calls, and the median and the greatest time in milliseconds; 0
    without calls."""

    count: tuple[int, ...]
    median: tuple[float, ...]
    slowest: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CallsOverTime:
    """since: where the first interval begins, in seconds since the epoch. seconds: the length of each."""

    since: float
    seconds: int
    verbs: Mapping[str, CallsOfVerb]

    def document(self, note: str = "") -> dict[str, object]:
        """For the page. note: what the reader has to know of the calls."""
        verbs = {
            verb: {"count": each.count, "median": each.median, "slowest": each.slowest}
            for verb, each in self.verbs.items()
        }
        return {"since": self.since, "seconds": self.seconds, "verbs": verbs, "note": note}


NO_CALLS = CallsOverTime(0.0, 1, {})


def calls_over_time(calls: Iterable[Call], now: float) -> CallsOverTime | None:
    """All calls up to now; None without any. Calls that are older than the longest time are left out."""
    found = [each for each in calls if each.at <= now]
    if not found:
        return None
    span = now - min(each.at for each in found)
    seconds = next((each for each in SECONDS if span < each * (MOST_INTERVALS - 1)), SECONDS[-1])
    # Intervals begin at multiples of their length, so that a call stays in its interval from one question to the next.
    last = int(now // seconds)
    first = max(int((now - span) // seconds), last - MOST_INTERVALS + 1)
    times: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        at = int(each.at // seconds) - first
        if at >= 0:
            times[each.verb][at].append(each.milliseconds)
    size = last - first + 1
    return CallsOverTime(
        first * seconds, seconds, {verb: _of_verb(by_interval, size) for verb, by_interval in sorted(times.items())}
    )


def _of_verb(by_interval: Mapping[int, list[float]], size: int) -> CallsOfVerb:
    lists = [by_interval.get(at, []) for at in range(size)]
    return CallsOfVerb(
        tuple(map(len, lists)),
        tuple(round(median(each), 3) if each else 0.0 for each in lists),
        tuple(round(max(each), 3) if each else 0.0 for each in lists),
    )
