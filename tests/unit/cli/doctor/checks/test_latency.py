"""The check of httpTimeout: latency of the verbs and time for bind."""

from __future__ import annotations

import orjson
import pytest

from berth_cli.doctor.access.endpoint import NoResponse
from berth_cli.doctor.checks.latency import CALLS, check_bind_time, check_latency
from berth_cli.doctor.checks.verbs import DEFAULT_VERBS
from berth_cli.doctor.findings import Result
from tests.fakes.doctor import FakeEndpoint, answered
from tests.unit.cli.doctor.finding_assertions import expect

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED
DAY = 86400.0
BROKEN = NoResponse("the server closed the connection", connection_closed=True)


@pytest.mark.parametrize(
    ("seconds", "timeout", "result", "message"),
    [
        pytest.param(0.02, 5.0, OK, "filter 20 ms, prioritize 20 ms", id="fast"),
        pytest.param(2.6, 5.0, WARNING, "a slow call may time out", id="more than half of the time"),
        pytest.param(5.0, 5.0, FAILED, "calls time out", id="all of the time"),
        pytest.param(0.02, 60.0, WARNING, "API Gateway ends requests after 30 s", id="longer than the gateway"),
    ],
)
def test_compares_latency_with_timeout(seconds: float, timeout: float, result: Result, message: str) -> None:
    slow = answered([], seconds=seconds)
    endpoint = FakeEndpoint(verbs={"filter": slow, "prioritize": slow})
    expect(check_latency(endpoint, DEFAULT_VERBS, ["a", "b"], timeout), "httpTimeout", result, message)


def test_measures_with_cluster_nodes_and_stops_early() -> None:
    endpoint = FakeEndpoint(verbs={"prioritize": answered([], seconds=9.0)})
    list(check_latency(endpoint, DEFAULT_VERBS, ["a", "b"], 5.0))
    assert [name for name, _ in endpoint.calls] == ["filter"] * CALLS + ["prioritize"]
    assert orjson.loads(endpoint.calls[0][1])["NodeNames"] == ["a", "b"]


def test_skips_latency_without_responses() -> None:
    silent = FakeEndpoint(verbs={"filter": NoResponse("x"), "prioritize": answered({}, 500)})
    expect(check_latency(silent, DEFAULT_VERBS, [], 5.0), "httpTimeout", SKIPPED, "no verb responded")


@pytest.mark.parametrize(
    ("timeout", "of_stack", "message"),
    [
        pytest.param(1.5, None, "bind cannot respond in time", id="less than bind needs"),
        pytest.param(3.0, 5.0, "runs for up to 4 s", id="less than the value of the stack"),
    ],
)
def test_fails_if_bind_cannot_respond_in_time(timeout: float, of_stack: float | None, message: str) -> None:
    expect(check_bind_time(timeout, of_stack), "httpTimeout", FAILED, message)
    assert list(check_bind_time(5.0, 5.0)) == []
