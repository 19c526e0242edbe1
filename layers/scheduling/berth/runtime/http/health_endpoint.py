"""The healthz function's endpoint: one read of the head, a status, a log line and a metric."""

from __future__ import annotations

import orjson

from berth.nodecache.health import HealthOutcome, health, installation
from berth.nodecache.warm_node_cache import StalenessReason
from berth.runtime.adapters import CacheAdapters
from berth.runtime.http.endpoint import SYSTEM_CLOCK, EndpointSettings, Page, PageEndpoint
from berth.runtime.http.events import HTTPEvent, http_answer

VERBOSE = "verbose"


def health_endpoint(settings: EndpointSettings, cache: CacheAdapters) -> PageEndpoint:
    """Return the endpoint of GET /healthz: 200 if the verbs can decide, else 503 with the reason. The query `verbose`
    adds the cluster and the configuration in use. The rest of the request is ignored."""
    table, configurations, staleness = cache.tables.cache, cache.configurations, StalenessReason(SYSTEM_CLOCK)

    def page(event: HTTPEvent) -> Page:
        outcome, report = health(table, configurations, SYSTEM_CLOCK, staleness, cache.loss)
        if str(event.get("rawQueryString", "")).removesuffix("=") == VERBOSE:
            report |= installation(table, configurations)
        status = 200 if outcome is HealthOutcome.OK else 503
        return Page(outcome, http_answer(status, orjson.dumps(report)), str(report.get("reason", "")))

    return PageEndpoint("healthz", settings, page)
