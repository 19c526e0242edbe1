"""The checks of the verbs: names, status codes and responses; latency and time for bind."""

from __future__ import annotations

import orjson
import pytest

from berth_cli.installation.doctor.checks.verbs import DEFAULT_VERBS, check_bind_time, check_latency, check_verbs
from berth_cli.installation.doctor.findings import Result
from berth_cli.sources.server import HttpResponse, NoResponse
from tests.fakes.doctor import FakeEndpoint, answered
from tests.unit.cli.installation.doctor.finding_assertions import expect

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED


def test_passes_for_all_working_verbs() -> None:
    assert [finding.result for finding in check_verbs(FakeEndpoint(), DEFAULT_VERBS)] == [OK] * 4


def test_requests_do_not_contain_a_real_pod_or_a_candidate_node() -> None:
    endpoint = FakeEndpoint()
    list(check_verbs(endpoint, DEFAULT_VERBS))
    sent = {name: orjson.loads(body) for name, body in endpoint.calls}
    assert sent["bind"] == {}
    assert sent["preempt"]["NodeNameToMetaVictims"] == {}
    assert sent["filter"]["Pod"]["metadata"]["uid"] == "berth-doctor"
    assert sent["filter"] == sent["prioritize"]


@pytest.mark.parametrize(
    ("field", "verb", "answer", "result", "message", "remedy"),
    [
        pytest.param(
            "prioritizeVerb", "priority", None, FAILED, "ignores this error", "set prioritizeVerb: prioritize",
            id="misspelt prioritize",
        ),
        pytest.param("filterVerb", "filters", None, FAILED, "404", "set filterVerb: filter", id="a wrong name"),
        pytest.param("filterVerb", "filteronly", None, FAILED, "404", "filter_onlyone", id="the nearest of two names"),
        pytest.param("bindVerb", "bind", answered({}, 404), FAILED, "404", "ends in /scheduler", id="name elsewhere"),
        pytest.param(
            "filterVerb", "filter", answered({"message": "Forbidden"}, 403), FAILED, "not authorized", "credentials",
            id="not authorized",
        ),
        pytest.param(
            "prioritizeVerb", "prioritize", answered({"Error": "stale"}, 500), FAILED, "stale", "log", id="a status 500"
        ),
        pytest.param(
            "prioritizeVerb", "prioritize", answered({"message": "Too Many Requests"}, 429), FAILED, "throttled",
            "2,000 calls a second", id="throttled by the gateway",
        ),
        pytest.param("filterVerb", "filter", answered({}, 201), FAILED, "fact 3", "log", id="only 200 passes"),
        pytest.param("filterVerb", "filter", answered(b"<html>"), FAILED, "not JSON", "Berth", id="another server"),
        pytest.param(
            "filterVerb", "filter", answered({"Error": "the node cache is empty"}), FAILED, "the node cache is empty",
            "cache", id="Error in the response of filter",
        ),
        pytest.param(
            "prioritizeVerb", "prioritize", answered([{"Host": "a", "Score": 1.0}]), FAILED, "integer scores", "Berth",
            id="a score that Go cannot decode",
        ),
        pytest.param("prioritizeVerb", "prioritize", answered([]), FAILED, "no scores", "log", id="fact 28"),
        pytest.param("bindVerb", "bind", answered({"Error": ""}), WARNING, "not rejected", "Berth", id="does not bind"),
    ],
)  # fmt: skip
def test_reports_failing_verb_with_its_cause(
    field: str, verb: str, answer: HttpResponse | None, result: Result, message: str, remedy: str
) -> None:
    endpoint = FakeEndpoint(verbs={} if answer is None else {verb: answer})
    [finding] = check_verbs(endpoint, {field: verb})
    assert (finding.result, message in finding.message, remedy in finding.remedy) == (result, True, True), finding


def test_reports_unreachable_address_only_once() -> None:
    silent = FakeEndpoint(verbs={"filter": NoResponse("no response in time")})
    [finding] = check_verbs(silent, DEFAULT_VERBS)
    assert (finding.check, finding.result) == ("verbs", FAILED)
    assert len(silent.calls) == 1


@pytest.mark.parametrize(
    ("seconds", "timeout", "result", "message"),
    [
        pytest.param(0.02, 5.0, OK, "filter 20 ms, prioritize 20 ms", id="fast"),
        pytest.param(2.6, 5.0, WARNING, "a slow call may time out", id="more than half of the time"),
        pytest.param(5.0, 5.0, FAILED, "calls time out", id="all of the time"),
    ],
)
def test_compares_latency_with_timeout(seconds: float, timeout: float, result: Result, message: str) -> None:
    slow = answered([], seconds=seconds)
    endpoint = FakeEndpoint(verbs={"filter": slow, "prioritize": slow})
    expect(check_latency(endpoint, DEFAULT_VERBS, ["a", "b"], timeout), "httpTimeout", result, message)


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
