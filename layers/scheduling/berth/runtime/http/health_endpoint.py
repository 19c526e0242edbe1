"""The healthz function's endpoint: one read of the head, a status, a log line and a metric."""

from __future__ import annotations

import time

import orjson

from berth.lease.clock import SystemClock
from berth.nodecache.health import HealthOutcome, health
from berth.nodecache.staleness import StalenessReason
from berth.runtime.adapters import CacheAdapters
from berth.runtime.http.events import HTTPAnswer, http_answer
from berth.runtime.telemetry.telemetry import Telemetry


class HealthEndpoint:
    """GET /healthz: 200 when the verbs can decide, else 503 and the reason. Takes every event."""

    def __init__(self, cache: CacheAdapters) -> None:
        self._cache = cache
        self._clock = SystemClock()
        self._staleness = StalenessReason(self._clock)
        self._telemetry = Telemetry("healthz")

    def handle(self) -> HTTPAnswer:
        """The answer as of now."""
        with self._telemetry.traced():
            started = time.perf_counter()
            outcome, report = health(
                self._cache.table, self._cache.configurations, self._clock, self._staleness, self._cache.loss
            )
            is_ok = outcome is HealthOutcome.OK
            self._telemetry.ended(
                outcome,
                pod="",
                detail=str(report.get("reason", "")),
                milliseconds=(time.perf_counter() - started) * 1000,
                failed=not is_ok,
            )
        return http_answer(200 if is_ok else 503, orjson.dumps(report))
