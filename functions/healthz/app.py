"""GET /healthz."""

import os
import time

import orjson

from berth.nodecache.health import HealthOutcome, health
from berth.runtime.adapters import cache_adapters
from berth.runtime.http.events import HTTPAnswer, HTTPEvent, http_answer
from berth.runtime.settings import PolicySettings
from berth.runtime.telemetry.telemetry import Telemetry

cache = cache_adapters(PolicySettings.from_environ(os.environ))
telemetry = Telemetry("healthz")


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """200 when there is something to decide on, else 503 and the reason."""
    with telemetry.traced():
        started = time.perf_counter()
        outcome, found = health(cache.table, cache.configurations, time.time)
        ok = outcome is HealthOutcome.OK
        telemetry.ended(
            outcome,
            pod="",
            detail=str(found.get("reason", "")),
            milliseconds=(time.perf_counter() - started) * 1000,
            failed=not ok,
        )
    return http_answer(200 if ok else 503, orjson.dumps(found))
