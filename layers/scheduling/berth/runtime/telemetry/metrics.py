"""Metrics in a function's log, in the Embedded Metric Format. docs/reference/metrics-and-alarms.md lists all of them.

They have the form that Powertools gives them, and are written without its general ways, which with 100 names in a
request took half of the whole call.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from berth.nodecache.warm_node_cache import Freshness

NAMESPACE = "Berth"
STACK = "stack"
VERB = "verb"
OUTCOME = "outcome"
HAPPENING = "happening"

COUNT = "Count"
MILLISECONDS = "Milliseconds"
SECONDS = "Seconds"
BYTES = "Bytes"

Group = Mapping[str, object]
"""Metrics with their dimensions."""


def group(dimensions: Sequence[Sequence[str]], units: Mapping[str, str]) -> Group:
    """units: by metric. No dimension has as many values as there are pods or nodes: each costs a metric of its own."""
    return {
        "Namespace": NAMESPACE,
        "Dimensions": [[STACK, *names] for names in dimensions],
        "Metrics": [{"Name": name, "Unit": unit} for name, unit in units.items()],
    }


class Metrics:
    """Prints them, unless POWERTOOLS_METRICS_DISABLED. Every one has its stack: an account may have several."""

    def __init__(self) -> None:
        self._measured = os.environ.get("POWERTOOLS_METRICS_DISABLED", "").lower() not in ("true", "1")
        self._stack = os.environ.get("BERTH_STACK", "local")

    def emit(
        self,
        groups: Iterable[Group],
        dimensions: Mapping[str, str],
        values: Mapping[str, Sequence[float]],
        now: float,
    ) -> None:
        """One line. now: seconds since the epoch."""
        if not self._measured:
            return
        line = {
            "_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": list(groups)},
            STACK: self._stack,
            **dimensions,
            **values,
        }
        print(orjson.dumps(line).decode())


CACHE_AGE = group([[VERB], []], {"CacheAge": SECONDS})
CACHE_LAG = group([[VERB]], {"VersionLag": COUNT})


class CacheMetrics:
    """Of one verb."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._metrics = Metrics()

    def record(self, record: Freshness) -> None:
        """A call has read the published state. The first read of an environment has no lag."""
        groups, values = [CACHE_AGE], {"CacheAge": [record.age]}
        if record.lag is not None:
            groups.append(CACHE_LAG)
            values["VersionLag"] = [float(record.lag)]
        self._metrics.emit(groups, {VERB: self._verb}, values, time.time())
