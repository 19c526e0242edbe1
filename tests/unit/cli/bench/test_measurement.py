"""What `berth bench` sends, how it names a call's outcome, and which percentiles it prints."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from berth_cli.bench.measurement import Call, CallOutcome, Plan, Times, Verb, VerbFigures, body, measure
from berth_cli.doctor.access.endpoint import HttpResponse, NoResponse
from tests.fakes.doctor import FakeEndpoint, answered

POD = {"metadata": {"name": "p"}, "spec": {}}
PLAN = Plan(warm_calls=3, burst_calls=2, node_names=("a", "b"), pod=POD)


def figures(endpoint: FakeEndpoint, verb: Verb = Verb.FILTER, plan: Plan = PLAN) -> VerbFigures:
    [found] = measure(endpoint, [verb], plan, lambda *_: None)
    return found


def status(code: int, content: bytes = b"{}") -> HttpResponse:
    return HttpResponse(code, content, 0.5, None, 0.0)


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        pytest.param([], (None, None, None, None), id="no call answered"),
        pytest.param([7], (7, 7, 7, 7), id="one call is every percentile"),
        pytest.param(range(1, 101), (50, 90, 99, 100), id="nearest rank of a hundred"),
        pytest.param([1, 2, 3, 1000], (2, 1000, 1000, 1000), id="nearest rank of four"),
    ],
)
def test_percentiles_are_nearest_ranks(milliseconds: list[int], expected: tuple[float | None, ...]) -> None:
    times = Times.of([Call(CallOutcome.ANSWERED, each / 1000) for each in milliseconds])
    assert (times.p50, times.p90, times.p99, times.most) == pytest.approx(expected)


def test_a_throttled_call_is_counted_and_not_timed() -> None:
    times = Times.of([Call(CallOutcome.ANSWERED, 0.1), Call(CallOutcome.THROTTLED, 0.001)])
    assert times.calls == 2
    assert times.p50 == pytest.approx(100)


@pytest.mark.parametrize(
    ("verb", "answer", "outcome"),
    [
        pytest.param(Verb.FILTER, answered({"NodeNames": ["a"]}), CallOutcome.ANSWERED, id="answer"),
        pytest.param(Verb.FILTER, answered({"Error": "cache is empty"}), CallOutcome.ERROR, id="error in the answer"),
        pytest.param(
            Verb.BIND, answered({"Error": "no pod"}), CallOutcome.ANSWERED, id="bind rejects the empty request"
        ),
        pytest.param(Verb.PRIORITIZE, answered([]), CallOutcome.ANSWERED, id="list of scores"),
        pytest.param(Verb.FILTER, status(401), CallOutcome.REFUSED, id="401"),
        pytest.param(Verb.FILTER, status(403), CallOutcome.REFUSED, id="403"),
        pytest.param(Verb.FILTER, status(429), CallOutcome.THROTTLED, id="throttled by the gateway"),
        pytest.param(Verb.FILTER, status(503), CallOutcome.THROTTLED, id="throttled by Lambda"),
        pytest.param(Verb.FILTER, status(500), CallOutcome.FAILED, id="500"),
        pytest.param(Verb.FILTER, status(200, b"<html>"), CallOutcome.FAILED, id="not JSON"),
        pytest.param(Verb.FILTER, NoResponse("no response in time"), CallOutcome.NO_ANSWER, id="no answer"),
    ],
)
def test_names_the_outcome_of_a_call(verb: Verb, answer: HttpResponse | NoResponse, outcome: CallOutcome) -> None:
    found = figures(FakeEndpoint(verbs={verb: answer}), verb)
    assert set(found.outcomes) == {outcome}
    assert bool(found.detail) == (outcome is not CallOutcome.ANSWERED)


def test_calls_once_then_one_after_another_then_at_once() -> None:
    found = figures(FakeEndpoint(verbs={"filter": answered({"NodeNames": []}, seconds=0.02)}))
    assert (found.first.calls, found.warm.calls, found.burst.calls) == (1, 3, 2)
    assert found.warm.p50 == pytest.approx(20)


class Quota(FakeEndpoint):
    """Answers so many calls, and throttles the others."""

    def verb(self, name: str, body: bytes) -> HttpResponse | NoResponse:
        found = super().verb(name, body)
        return found if len(self.calls) <= 5 else status(503)


def test_counts_what_is_throttled_of_the_burst() -> None:
    found = figures(Quota(), plan=replace(PLAN, burst_calls=4))
    assert found.outcomes == {CallOutcome.ANSWERED: 5, CallOutcome.THROTTLED: 3}
    assert (found.burst.calls, found.throttled_in_burst) == (4, 3)


def test_does_not_count_what_is_throttled_before_the_burst() -> None:
    assert (
        figures(FakeEndpoint(verbs={"filter": status(429)}), plan=replace(PLAN, burst_calls=0)).throttled_in_burst == 0
    )


@pytest.mark.parametrize("answer", [NoResponse("connection refused or blocked"), status(401)])
def test_stops_after_a_first_call_that_tells_how_all_end(answer: HttpResponse | NoResponse) -> None:
    endpoint = FakeEndpoint(verbs={"filter": answer})
    assert figures(endpoint).warm.calls == 0
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize(
    ("verb", "content"),
    [
        pytest.param(Verb.FILTER, {"Pod": POD, "Nodes": None, "NodeNames": ["a", "b"]}, id="names"),
        pytest.param(Verb.BIND, {}, id="bind: no pod, so nothing is bound"),
        pytest.param(
            Verb.PREEMPT,
            {"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}},
            id="preempt: no candidates, so nothing is evicted",
        ),
    ],
)
def test_requests_change_nothing(verb: Verb, content: object) -> None:
    assert orjson.loads(body(verb, PLAN)) == content
