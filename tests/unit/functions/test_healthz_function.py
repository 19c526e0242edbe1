"""healthz: 200 if there is a cluster to decide on, else 503 and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tests.builders.events import http_event
from tests.fakes.log_lines import LogLines

Load = Callable[..., Callable[..., Any]]


def test_returns_200_if_the_cache_is_published(load_function: Load, log_lines: LogLines) -> None:
    answer = load_function("healthz", {})(http_event(None, "GET /healthz"), None)
    assert (answer["statusCode"], answer["headers"]) == (200, {"Content-Type": "application/json"})
    found = orjson.loads(answer["body"])
    assert found["status"] == "ok"
    assert 0 <= found["observedAgeSeconds"] < 600
    assert [(line["level"], line["verb"], line["outcome"]) for line in log_lines.all()] == [("INFO", "healthz", "ok")]


def test_returns_503_with_reason_if_the_table_is_missing(load_function: Load, log_lines: LogLines) -> None:
    answer = load_function("healthz", {"BERTH_CACHE_TABLE": "absent"})(http_event(None, "GET /healthz"), None)
    assert answer["statusCode"] == 503
    found = orjson.loads(answer["body"])
    assert found["status"] == "failure-cache-unavailable"
    assert found["reason"].startswith("node cache table absent: the table does not exist")
    assert [(line["level"], line["detail"]) for line in log_lines.all()] == [("WARNING", found["reason"])]
