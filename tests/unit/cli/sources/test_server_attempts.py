"""The records of a `berth serve`, read from its own route: the attempts of a pod, and errors in one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import orjson
import pytest

from berth.bind.answer import answer_bind, failed
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth_cli.server.endpoints.decisions import decisions_endpoint
from berth_cli.server.recent_decisions import RecentDecisions
from berth_cli.sources.attempts import Attempts, NoRecord
from berth_cli.sources.server import HttpResponse, NoResponse
from berth_cli.sources.server_attempts import read_attempts, running_configuration
from berth_cli.terminal.input_files import InvalidInput
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode
from tests.fakes.binder import ScriptedBinder, Step, created, pod_on, refused
from tests.fakes.doctor import ADDRESS, FakeEndpoint, answered
from tests.fakes.verbs import Verbs


@dataclass
class Server(FakeEndpoint):
    """Answers /decisions from memory. answer: returned instead if it is set."""

    recent: RecentDecisions = field(default_factory=lambda: RecentDecisions(map(float, count(1)).__next__))
    answer: HttpResponse | NoResponse | None = None

    def get(self, name: str, body: bytes | None = None) -> HttpResponse | NoResponse:
        route, _, query = name.partition("?")
        if route != "decisions":
            return answered({}, 404)
        if self.answer is not None:
            return self.answer
        event = {**http_event(None, "GET /decisions"), "rawQueryString": query}
        found = decisions_endpoint(EndpointSettings(), self.recent).handle(event)
        return answered(orjson.loads(found["body"]), found["statusCode"])

    def decide(self, *names: str, verb: str = "filter", pod: str = "p", uid: str = "") -> None:
        asked = pod_object(pod)
        if uid:
            asked["metadata"]["uid"] = uid  # type: ignore[index]
        verbs = Verbs([labelled("a", "1"), node("b"), node("c")], recorder=self.recent)
        verbs.ask(verb, cache_mode(names, asked))

    def bind(self, node: str, step: Step, pod: str = "p") -> None:
        answering = partial(answer_bind, binder=ScriptedBinder(pod_on("", f"uid-{pod}"), step))
        endpoint = VerbEndpoint("bind", EndpointSettings(), answering, failed, recorder=self.recent)
        endpoint.handle(http_event(body_of(binding(pod, uid=f"uid-{pod}", node=node)), "POST /scheduler/bind"))


def attempts(server: Server, pod: str = "p") -> Attempts:
    found = read_attempts(server, "ml", pod)
    assert isinstance(found, Attempts)
    return found


def test_lists_attempts_of_the_pod_in_chronological_order() -> None:
    server = Server()
    server.decide("b", "c", "new")
    server.decide("b", pod="other")
    server.decide("a", "b")
    found = attempts(server)
    assert [(each.time, each.nodes, each.feasible) for each in found.all] == [(1.0, 3, 0), (3.0, 2, 1)]
    assert [(each.code, each.count, each.nodes) for each in found.all[0].reasons] == [
        ("PriorityLabelMissing", 2, ("b", "c")),
        ("NodeNotInCache", 1, ("new",)),
    ]


@pytest.mark.parametrize(("step", "bind"), [pytest.param(created(), ("bound", "a", ""), id="bound")])
def test_following_bind_is_not_a_separate_attempt(step: Step, bind: tuple[str, str, str]) -> None:
    server = Server()
    server.decide("a", "b")
    server.bind("a", step)
    found = attempts(server)
    assert found.bind is not None
    assert len(found.all) == 1
    assert (found.bind.outcome, found.bind.chosen, found.bind.error) == bind


def test_bind_before_the_last_attempt_is_ignored() -> None:
    server = Server()
    server.bind("a", refused(403, "not allowed"))
    server.decide("a", "b")
    assert attempts(server).bind is None


def test_failed_call_is_an_attempt_with_its_cause() -> None:
    server = Server()
    Verbs(recorder=server.recent).ask("filter", cache_mode(["a"], pod_object("p")))
    [found] = attempts(server).all
    assert found.outcome == "failure-cache-unavailable"
    assert found.error.startswith("the node cache is empty")


def recorded(**changed: Any) -> HttpResponse:
    """Return an answer with one record, with these keys changed."""
    server = Server()
    server.decide("b")
    response = server.get("decisions?pod=ml/p")
    assert isinstance(response, HttpResponse)
    content = orjson.loads(response.body)
    content["decisions"][0] |= changed
    return answered(content)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            NoResponse("connection refused or blocked"),
            "connection refused or blocked; is berth serve running there?",
            id="no response",
        ),
        pytest.param(
            answered({"message": "Not Found"}, 404),
            "/decisions answers 404; is it a berth serve of this release? A stack has no such route",
            id="a stack, or an earlier release",
        ),
        pytest.param(answered({"reason": "not allowed"}, 401), "/decisions answers 401; not allowed", id="refused"),
        pytest.param(
            recorded(reasons=None),
            "/decisions cannot be read: decisions.0.reasons: Input should be a valid tuple",
            id="another form",
        ),
    ],
)
def test_error_names_the_address_and_the_problem(answer: HttpResponse | NoResponse, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_attempts(Server(answer=answer), "ml", "p")
    assert raised.value.message == f"{ADDRESS}: {message}"


@pytest.mark.parametrize(
    ("configuration", "decisions", "reason"),
    [
        pytest.param(
            {"decisions": "off"},
            1,
            "keeps no records in memory: its configuration has decisions: off; set decisions: memory",
            id="records switched off",
        ),
        pytest.param(
            {},
            0,
            "has no records: no scheduler has called it since it started; try berth doctor",
            id="no call recorded yet",
        ),
        pytest.param(
            {},
            2,
            "has no record of pod ml/p: it is not among its 2 decisions since 1970-01-01T00:00:01+00:00; "
            "check the name, and the pod's schedulerName",
            id="an unknown pod",
        ),
    ],
)
def test_reports_why_records_are_missing(configuration: dict[str, str], decisions: int, reason: str) -> None:
    server = Server(health=answered({"configuration": configuration}))
    for _ in range(decisions):
        server.decide("b", pod="other")
    assert read_attempts(server, "ml", "p") == NoRecord(f"{ADDRESS} {reason}")


def test_reads_the_configuration_used_by_the_server() -> None:
    server = Server(health=answered({"configuration": {"profile": "label-priority"}}))
    assert running_configuration(server).profile == "label-priority"
