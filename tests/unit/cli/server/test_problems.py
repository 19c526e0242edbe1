"""Problems of a running server's sources: the log lines, and the answers of /healthz."""

from __future__ import annotations

import logging

import orjson
import pytest

from berth.extender.outcomes import BindOutcome, FailureOutcome, FilterOutcome
from berth.runtime.http.events import HTTPAnswer, http_answer
from berth_cli.server.problems import FAILED_CALLS, Problems

OK = b'{"status":"ok","version":3}'


def health(problems: Problems, status: int = 200, body: bytes = OK) -> tuple[int, object]:
    answer: HTTPAnswer = problems.added_to(lambda *_: http_answer(status, body))({}, None)
    return answer["statusCode"], orjson.loads(answer["body"])


def test_logs_each_change_of_a_problem_once(caplog: pytest.LogCaptureFixture) -> None:
    problems = Problems()
    for problem in ("", "gone", "gone", "empty", "", ""):
        problems.note("--cluster", problem)
    assert caplog.record_tuples == [
        ("berth", logging.WARNING, f"--cluster: {text}") for text in ("gone", "empty", "works again")
    ]


def current(problems: Problems) -> object:
    answer = health(problems)[1]
    return answer.get("problems", {}) if isinstance(answer, dict) else None


@pytest.mark.parametrize(
    ("status", "body", "answered"),
    [
        pytest.param(200, OK, {"status": "degraded", "version": 3, "problems": {"--config": "bad"}}, id="ok"),
        pytest.param(
            503, b'{"status":"failure-cache-stale"}', {"status": "failure-cache-stale", "problems": {"--config": "bad"}}
        ),
        pytest.param(403, b'{"message":"Forbidden"}', {"message": "Forbidden"}, id="a denied caller"),
    ],
)
def test_health_names_the_problems_and_keeps_its_status_code(status: int, body: bytes, answered: object) -> None:
    problems = Problems()
    assert health(problems, status, body) == (status, orjson.loads(body))
    problems.note("--config", "bad")
    assert health(problems, status, body) == (status, answered)


@pytest.mark.parametrize(
    ("verb", "outcome", "is_problem"),
    [
        pytest.param("bind", BindOutcome.LEDGER_UNAVAILABLE, True, id="the ledger table"),
        pytest.param("bind", BindOutcome.REFUSED, True, id="credentials of the binder"),
        pytest.param("filter", FailureOutcome.PLUGIN_FAILED, True, id="a plugin"),
        pytest.param("filter", FailureOutcome.BAD_REQUEST, False, id="the caller"),
        pytest.param("bind", BindOutcome.CONTENDED, False, id="no failure"),
        pytest.param("authorizer", FailureOutcome.INTERNAL, False, id="no verb"),
    ],
)
def test_calls_that_fail_three_times_are_a_problem_of_their_verb(verb: str, outcome: str, is_problem: bool) -> None:
    problems = Problems()
    for _ in range(FAILED_CALLS - 1):
        problems.note_call(verb, outcome)
    assert current(problems) == {}
    problems.note_call(verb, outcome)
    assert current(problems) == ({verb: f"calls fail, the last one as {outcome}"} if is_problem else {})
    problems.note_call(verb, FailureOutcome.BAD_REQUEST)
    problems.note_call("prioritize", FilterOutcome.FEASIBLE)
    assert bool(current(problems)) is is_problem
    problems.note_call(verb, FilterOutcome.FEASIBLE)
    assert current(problems) == {}
