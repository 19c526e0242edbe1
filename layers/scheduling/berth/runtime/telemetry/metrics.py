"""Metrics in a function's log, in the Embedded Metric Format. docs/reference/metrics-and-alarms.md lists all of them.

The format is Powertools', but Berth writes it itself: with 100 names in a request, Powertools took half of the whole
call.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field

import orjson

from berth.runtime.environment import set_until_end

NAMESPACE = "Berth"
STACK = "stack"
VERB = "verb"
OUTCOME = "outcome"
REASON_CODE = "reasonCode"
HAPPENING = "happening"

COUNT = "Count"
MILLISECONDS = "Milliseconds"
SECONDS = "Seconds"

Group = Mapping[str, object]
"""Metrics with their dimensions."""


def group(dimensions: Sequence[Sequence[str]], units: Mapping[str, str]) -> Group:
    """Return a group. units: by metric. Do not use pods or nodes as dimensions: each value costs another metric."""
    return {
        "Namespace": NAMESPACE,
        "Dimensions": [[STACK, *names] for names in dimensions],
        "Metrics": [{"Name": name, "Unit": unit} for name, unit in units.items()],
    }


@dataclass(slots=True)
class Measures:
    """Groups of metrics and their values, for the log line of one call. waited: the seconds for which the call waited
    for other members of its gang."""

    groups: list[Group] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    waited: float = 0.0


_CALL: ContextVar[Measures | None] = ContextVar("measures of the current call", default=None)


def measured_call() -> AbstractContextManager[None]:
    return set_until_end(_CALL, Measures())


def measures_of_call() -> Measures:
    """Return the measurements collected since `measured_call`; empty outside of a call."""
    return _CALL.get() or Measures()


SLOW_CALLS = group([[]], {"SlowCalls": COUNT})


def record_slow_call(seconds_left: float, http_timeout: float) -> None:
    """Count the current call as slow if it took three quarters of the httpTimeout, not counting its wait for a gang.
    seconds_left: until the httpTimeout, without the gateway's own time, which is unknown."""
    call = measures_of_call()
    if seconds_left + call.waited <= http_timeout / 4:
        call.groups.append(SLOW_CALLS)
        call.values["SlowCalls"] = [1.0]


def wait_for_gang(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Sleep, and do not count this time for `record_slow_call`: a member may wait for as long as httpTimeout allows."""
    sleep(seconds)
    measures_of_call().waited += seconds


class Metrics:
    """Prints metrics, unless POWERTOOLS_METRICS_DISABLED is set. Each has its stack as a dimension. detailed: also
    print metrics that the default alarms do not need; each combination of dimensions has a price."""

    def __init__(self) -> None:
        self._measured = os.environ.get("POWERTOOLS_METRICS_DISABLED", "").lower() not in ("true", "1")
        self._stack = os.environ.get("BERTH_STACK", "local")
        self.detailed = os.environ.get("BERTH_DETAILED_METRICS", "") == "true"

    def members(
        self,
        groups: Sequence[Group],
        dimensions: Mapping[str, str],
        values: Mapping[str, Sequence[float]],
        now: float,
    ) -> Mapping[str, object]:
        """Return the JSON members that add metrics to a log line; empty if there are no metrics. now: seconds since the
        epoch. dimensions: other fields of that line, which the members do not repeat."""
        if not self._measured or not groups:
            return {}
        return {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": groups}, STACK: self._stack, **values}

    def emit(
        self,
        groups: Sequence[Group],
        dimensions: Mapping[str, str],
        values: Mapping[str, Sequence[float]],
        now: float,
    ) -> None:
        """Print a line with only these metrics. now: seconds since the epoch."""
        line = self.members(groups, dimensions, values, now)
        if line:
            print(orjson.dumps({**line, **dimensions}).decode())

    def close(self) -> None:
        """Do nothing: metrics are not kept."""


FAILURES = group([[]], {"Failures": COUNT})
CACHE_AGE = group([[]], {"CacheAge": SECONDS})

WARM_UP_LINE_SECONDS = 45.0
"""Seconds between two lines of warm-up events, which come every ten seconds: the alarm CacheStale uses whole
minutes."""

OLD_SECONDS = 90.0
"""Age in seconds from which data gets a line at once, because the alarm fires at 150 s."""


class CacheMetrics:
    def __init__(self, verb: str, wall: Callable[[], float]) -> None:
        self._verb, self._wall = verb, wall
        self._metrics = Metrics()
        self._oldest = 0.0
        self._line_at = -math.inf

    def record(self, age: float) -> None:
        """Record that a call has read the published state. The metric joins the call's log line. A warm-up event does
        not have a line: the events of about a minute share a line, with the oldest age."""
        if _CALL.get() is not None:
            self._add(CACHE_AGE, {"CacheAge": [age]})
            return
        self._oldest, now = max(self._oldest, age), self._wall()
        if age >= OLD_SECONDS or abs(now - self._line_at) >= WARM_UP_LINE_SECONDS:
            self._add(CACHE_AGE, {"CacheAge": [self._oldest]})
            self._oldest, self._line_at = 0.0, now

    def fell_back(self) -> None:
        """Record that a call used another configuration, or earlier credentials, because those in force cannot be
        loaded. This is a failure, although the call gets an answer. The metric of the alarm Failures includes it."""
        self._add(FAILURES, {"Failures": [1.0]})

    def _add(self, metrics: Group, values: Mapping[str, list[float]]) -> None:
        call = _CALL.get()
        if call is None:
            self._metrics.emit([metrics], {VERB: self._verb}, values, time.time())
        else:
            call.groups += [metrics] if metrics not in call.groups else []
            call.values |= values
