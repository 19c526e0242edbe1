"""The healthz function's endpoint: one read of the head, a status, a log line and a metric."""

from __future__ import annotations

import orjson

from berth.extender.deadline import Deadline
from berth.nodecache.health import HealthOutcome, health, installation
from berth.nodecache.warm_node_cache import StalenessReason
from berth.runtime.adapters import CacheAdapters
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPAnswer, HTTPEvent, http_answer

VERBOSE = "verbose"


class HealthEndpoint(Endpoint):
    """Answer GET /healthz: 200 if the verbs can decide, else 503 and the reason. The query `verbose` adds the cluster
    and the configuration in use. It reads nothing else of the request."""

    def __init__(self, settings: EndpointSettings, cache: CacheAdapters) -> None:
        super().__init__("healthz", settings)
        self._cache = cache
        self._staleness = StalenessReason(self._clock)

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        outcome, report = health(
            self._cache.tables.cache, self._cache.configurations, self._clock, self._staleness, self._cache.loss
        )
        if str(event.get("rawQueryString", "")).removesuffix("=") == VERBOSE:
            report |= installation(self._cache.tables.cache, self._cache.configurations)
        is_ok = outcome is HealthOutcome.OK
        self._log_ended(outcome, str(report.get("reason", "")), caller, started, failed=not is_ok)
        return http_answer(200 if is_ok else 503, orjson.dumps(report))
