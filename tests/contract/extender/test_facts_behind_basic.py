"""With Basic authentication (facts 28 and 37) every verb returns 200, whatever fails: for another status the scheduler
would print the password into the pod's event. The tests call the functions' handlers as they are deployed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders.authorizer_events import certificate_event
from tests.builders.event_fixtures import ALLOW_LIST
from tests.builders.requests import binding, body_of, cache_mode, victims_by_uid
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import call

Load = Callable[..., Callable[..., Any]]

BASIC = {"BERTH_AUTHENTICATION": "basic"}
MTLS = {"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(ALLOW_LIST)}
LISTED = "3f0c9a1b77e2d45061aa100bc5ee9001f2345678"
REQUESTS = {
    "filter": body_of(cache_mode(["n10"])),
    "filter_onlyone": body_of(cache_mode(["n10"])),
    "prioritize": body_of(cache_mode(["n10"])),
    "bind": body_of(binding()),
    "preempt": body_of(victims_by_uid({"n10": ["v1"]})),
}
# The responses of these two verbs do not have an Error.
SILENT = {"prioritize": [], "preempt": {"NodeNameToMetaVictims": {}}}

BAD_INPUT = [
    pytest.param("", id="an empty body"),
    pytest.param("{", id="not JSON"),
    pytest.param("[1]", id="not an object"),
    pytest.param('{"Pod": null}', id="required fields missing"),
    pytest.param("x" * 6_300_000, id="larger than a function accepts"),
]
FAILURES = [
    pytest.param({"BERTH_CACHE_TABLE": "absent"}, "failure-cache-unavailable", id="unreadable cache"),
    pytest.param({"BERTH_CONFIGURATION": "{"}, "failure-cache-unavailable", id="invalid configuration"),
]


@pytest.fixture
def load(load_function: Load, cluster_dump: str) -> Load:
    return lambda verb, variables: load_function(verb, {"BERTH_CLUSTER_DUMP": cluster_dump} | variables)


def says_so(verb: str, answer: Any) -> bool:
    """Return whether the response is the verb's own form of a failure."""
    return bool(answer == SILENT[verb] if verb in SILENT else answer["Error"] != "")


@pytest.mark.parametrize("verb", REQUESTS)
@pytest.mark.parametrize("body", BAD_INPUT)
def test_bad_input_returns_200_with_basic_authentication(load: Load, verb: str, body: str) -> None:
    answer = call(load(verb, BASIC), body, verb)
    assert answer.status == 200
    assert says_so(verb, answer.json)


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize", "preempt"])
@pytest.mark.parametrize(("variables", "outcome"), FAILURES)
def test_failure_returns_200_with_basic_authentication_and_emits_log_line_and_metric(
    load: Load, verb: str, variables: dict[str, str], outcome: str, log_lines: LogLines
) -> None:
    answer = call(load(verb, BASIC | variables), REQUESTS[verb], verb)
    assert answer.status == 200
    assert says_so(verb, answer.json)
    [line] = [line for line in log_lines.all() if "outcome" in line]
    assert (line["level"], line["verb"], line["outcome"]) == ("WARNING", verb, outcome)
    assert line["detail"] != ""
    assert line["Failures"] == [1.0]


@pytest.mark.parametrize("verb", SILENT)
def test_unexpected_exception_returns_200_with_basic_authentication(
    load: Load, verb: str, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    handler = load(verb, BASIC)

    def failing(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(handler.__globals__["cache"], "current", failing)
    answer = call(handler, REQUESTS[verb], verb)
    assert (answer.status, answer.json) == (200, SILENT[verb])
    assert "failure-internal" in [line.get("outcome") for line in log_lines.all()]


@pytest.mark.parametrize("verb", SILENT)
@pytest.mark.parametrize("variables", [MTLS, {}])
def test_failure_returns_error_status_if_the_response_cannot_expose_a_password(
    load: Load, verb: str, variables: dict[str, str]
) -> None:
    caller = certificate_event(LISTED, time.time() - 60, time.time() + 60)
    assert load(verb, variables)(caller | {"body": "{"}, None)["statusCode"] == 400
    absent = load(verb, variables | {"BERTH_CACHE_TABLE": "absent"})
    assert absent(caller | {"body": REQUESTS[verb]}, None)["statusCode"] == 500


@pytest.mark.parametrize("verb", SILENT)
def test_responses_are_equal_in_both_authentication_modes(load: Load, verb: str) -> None:
    behind_basic = call(load(verb, BASIC), REQUESTS[verb], verb)
    assert behind_basic.text == call(load(verb, {}), REQUESTS[verb], verb).text
    assert behind_basic.json != SILENT[verb]
