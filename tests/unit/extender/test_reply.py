"""Outcomes of calls, and the forms of a failure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NoReturn

import orjson
import pytest

from berth.bind import answer as bind
from berth.extender import filter, preempt, prioritize  # noqa: A004  a verb's name
from berth.extender.deadline import ANSWER_SECONDS, NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, FailureOutcome, FilterOutcome, PreemptOutcome, PrioritizeOutcome
from berth.extender.ports import DecisionContext, NodeCache
from berth.extender.reply import Reply, host_scores, reasons
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import DeadlineExceeded, TimeLimit
from berth.scheduling.evaluation.verdicts import NONE_REJECTED, Rejected
from berth.scheduling.feasibility import TOO_COSTLY
from berth.scheduling.framework.plugin import unresolvable, unschedulable
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import body_of, cache_mode, victims_by_uid
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import Verbs


@pytest.mark.parametrize("outcome", FailureOutcome)
def test_verbs_with_error_field_fail_with_status_200(outcome: FailureOutcome) -> None:
    failure = Failure(outcome, "the reason", "ml/p")
    assert (bind.failed(failure).status, bind.failed(failure).body) == (200, b'{"Error":"the reason"}')
    assert filter.failed(failure).status == 200
    assert filter.failed(failure).body == (
        b'{"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":"the reason"}'
    )


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (FailureOutcome.BAD_REQUEST, 400),
        (FailureOutcome.CACHE_UNAVAILABLE, 500),
        (FailureOutcome.CLUSTER_UNAVAILABLE, 500),
        (FailureOutcome.INTERNAL, 500),
    ],
)
def test_verbs_without_error_field_fail_by_status(outcome: FailureOutcome, status: int) -> None:
    for failed in (prioritize.failed, preempt.failed):
        reply = failed(Failure(outcome, "the reason", "ml/p"))
        assert (reply.status, reply.outcome, reply.pod, reply.detail) == (status, outcome, "ml/p", "the reason")


@pytest.mark.parametrize(
    ("verb", "request_body", "outcome", "detail"),
    [
        ("filter", cache_mode(["n10", "plain"]), FilterOutcome.FEASIBLE, "1 of 2 nodes feasible"),
        ("filter", cache_mode(["plain"]), FilterOutcome.NONE_FEASIBLE, "0 of 1 nodes feasible"),
        (
            "filter",
            cache_mode(["plain"], pod_object(namespace="kube-system")),
            FilterOutcome.EXEMPT,
            "1 of 1 nodes feasible",
        ),
        ("filter_onlyone", cache_mode(["n10", "n20"]), FilterOutcome.FEASIBLE, "1 of 2 nodes feasible"),
        ("prioritize", cache_mode(["n10", "n20", "plain"]), PrioritizeOutcome.SCORED, "3 nodes scored, 0 to 20"),
        ("preempt", victims_by_uid({"n10": ["v"]}), PreemptOutcome.AGREED, "1 of 1 nodes with victims"),
        ("preempt", victims_by_uid({}), PreemptOutcome.NO_CANDIDATES, "0 of 0 nodes with victims"),
    ],
)
def test_logs_decision_with_outcome_and_summary(
    verb: str, request_body: object, outcome: str, detail: str, log_lines: LogLines
) -> None:
    verbs = Verbs([labelled("n10", "10"), labelled("n20", "20"), node("plain")])
    verbs.send(verb, body_of(request_body))
    [line] = log_lines.all()
    assert (line["level"], line["outcome"], line["detail"]) == ("INFO", outcome, detail)


class NoTime(NodeCache):
    """Has a cluster of one node, and a time limit for each decision. A limit of 0 s is exceeded at once."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._policy = BerthConfiguration().policy(time_limit=TimeLimit(seconds, lambda: 0.0, lambda: 0.0))

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        return DecisionContext(self._policy, Snapshot.of([labelled("n", "1")]))

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy


REASON = TOO_COSTLY.message


@pytest.mark.parametrize(
    ("answer", "failed", "request_body", "outcome", "body"),
    [
        pytest.param(
            filter.answer_filter,
            filter.failed,
            cache_mode(["n"]),
            FilterOutcome.TOO_COSTLY,
            {
                "Nodes": None,
                "NodeNames": [],
                "FailedNodes": {},
                "FailedAndUnresolvableNodes": {"n": REASON},
                "Error": "",
            },
            id="filter: unresolvable",
        ),
        pytest.param(
            prioritize.answer_prioritize,
            prioritize.failed,
            cache_mode(["n"]),
            PrioritizeOutcome.TOO_COSTLY,
            [{"Host": "n", "Score": 0}],
            id="prioritize: neutral",
        ),
        pytest.param(
            preempt.answer_preempt,
            preempt.failed,
            victims_by_uid({"n": ["v"]}),
            PreemptOutcome.TOO_COSTLY,
            {"NodeNameToMetaVictims": {}},
            id="preempt: no eviction",
        ),
    ],
)
def test_response_reports_a_decision_that_takes_too_long(
    answer: Callable[..., Reply],
    failed: Callable[[Failure], Reply],
    request_body: object,
    outcome: str,
    body: object,
    log_lines: LogLines,
) -> None:
    endpoint = VerbEndpoint("verb", EndpointSettings(), partial(answer, cache=NoTime()), failed)
    found = endpoint.handle(http_event(body_of(request_body)))
    assert (found["statusCode"], orjson.loads(found["body"])) == (200, body)
    [line] = log_lines.all()
    assert (line["level"], line["outcome"]) == ("INFO", outcome)


LATE = "the deadline passed before the decision: a cold start, or a slow table"


@pytest.mark.parametrize(
    ("answer", "failed", "request_body"),
    [
        pytest.param(filter.answer_filter, filter.failed, cache_mode(["n"]), id="filter"),
        pytest.param(filter.answer_filter_onlyone, filter.failed, cache_mode(["n"]), id="filter_onlyone"),
        pytest.param(prioritize.answer_prioritize, prioritize.failed, cache_mode(["n"]), id="prioritize"),
        pytest.param(preempt.answer_preempt, preempt.failed, victims_by_uid({"n": ["v"]}), id="preempt"),
    ],
)
@pytest.mark.parametrize("left", [ANSWER_SECONDS, 0.0])
def test_fails_if_too_little_time_is_left_for_a_decision(
    answer: Callable[..., Reply], failed: Callable[[Failure], Reply], request_body: object, left: float
) -> None:
    reply = answer(body_of(request_body), cache=NoTime(2.0), deadline=Deadline(left, lambda: 0.0))
    failure = Failure(FailureOutcome.DEADLINE_PASSED, LATE, reply.pod)
    assert (reply.outcome, reply.detail, reply.body) == (failure.outcome, LATE, failed(failure).body)
    assert reply.pod


@pytest.mark.parametrize("answer", [filter.answer_filter, filter.answer_filter_onlyone])
def test_failure_names_the_step_that_was_slow(answer: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch) -> None:
    def unfinished(*_: object, **__: object) -> NoReturn:
        raise DeadlineExceeded("gangs take long")

    monkeypatch.setattr(Policy, "_decided", unfinished)
    reply = answer(body_of(cache_mode(["n"])), cache=NoTime(2.0))
    assert (reply.outcome, reply.detail) == (FailureOutcome.DEADLINE_PASSED, "gangs take long")


def test_decides_within_the_remaining_time_of_the_call() -> None:
    deadline = Deadline(ANSWER_SECONDS + 0.1, lambda: 0.0)
    found = filter.answer_filter(body_of(cache_mode(["n"])), NoTime(2.0), deadline)
    assert found.outcome is FilterOutcome.FEASIBLE


FULL = unschedulable("Fit", "Insufficient cpu", "Insufficient memory")
ODD = unresolvable("Odd", 'it says "no"\n', "née \\ ☃")


@pytest.mark.parametrize(
    "rejected",
    [
        pytest.param(NONE_REJECTED, id="none"),
        pytest.param(Rejected.of({"a": FULL}), id="one"),
        pytest.param(Rejected.of({"b": FULL, "c": ODD, "a": FULL}), id="several in the order of the request"),
        pytest.param(Rejected(["b", "c", "a"], b"\1\2\1", [ODD, FULL, ODD]), id="by code"),
        pytest.param(Rejected.of({"a": FULL, 'x",': ODD}), id="a name with a quotation mark"),
        pytest.param(Rejected.of({"a\\": FULL, "b\n": FULL}), id="names with other characters that JSON escapes"),
        pytest.param(Rejected.of({"": FULL, "é☃": ODD}), id="an empty and a non-ASCII name"),
    ],
)
def test_encoded_reasons_equal_an_encoded_dictionary(rejected: Rejected) -> None:
    expected = {name: status.message for name, status in rejected.items()}
    assert orjson.dumps(reasons(rejected)) == orjson.dumps(expected)


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param({}, id="none"),
        pytest.param({"a": 7}, id="one"),
        pytest.param({"b": 10, "c": -3, "a": 10, "d": 10**15}, id="several in the order of the request"),
        pytest.param({"a": 0, 'x",': 1}, id="a name with a quotation mark"),
        pytest.param({"a\\": 0, "b\n": 0}, id="names with other characters that JSON escapes"),
        pytest.param({"": 1, "é☃": 2}, id="an empty and a non-ASCII name"),
    ],
)
def test_encoded_host_scores_equal_an_encoded_list(scores: dict[str, int]) -> None:
    expected = [{"Host": name, "Score": score} for name, score in scores.items()]
    assert orjson.dumps(host_scores([*scores], [*scores.values()])) == orjson.dumps(expected)
