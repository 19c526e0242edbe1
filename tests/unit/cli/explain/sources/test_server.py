"""The records of a `berth serve`, read from its own route: attempts of a pod, and one line for what cannot be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import orjson
import pytest

from berth.decisions.document import MOST_ANSWERED
from berth.decisions.recent import RecentDecisions
from berth.extender.bind import answer_bind, failed
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth_cli.doctor.access.endpoint import HttpResponse, NoResponse
from berth_cli.explain.attempts import Attempts, NoRecord, RecordedVerdict
from berth_cli.explain.sources.server import RecordsUnavailable, read_attempts, read_verdict, running_configuration
from berth_cli.serve.endpoints.decisions import DecisionsEndpoint
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode
from tests.fakes.binder import ScriptedBinder, Step, created, refused
from tests.fakes.doctor import ADDRESS, FakeEndpoint, answered
from tests.fakes.verbs import Verbs


@dataclass
class Server(FakeEndpoint):
    """It answers /decisions from memory. answer: another answer of this route."""

    recent: RecentDecisions = field(default_factory=lambda: RecentDecisions(map(float, count(1)).__next__))
    answer: HttpResponse | NoResponse | None = None

    def get(self, name: str) -> HttpResponse | NoResponse:
        route, _, query = name.partition("?")
        if route != "decisions":
            return answered({}, 404)
        if self.answer is not None:
            return self.answer
        event = {**http_event(None, "GET /decisions"), "rawQueryString": query}
        found = DecisionsEndpoint(EndpointSettings(), self.recent).handle(event)
        return answered(orjson.loads(found["body"]), found["statusCode"])

    def decide(self, *names: str, verb: str = "filter", pod: str = "p", uid: str = "") -> None:
        asked = pod_object(pod)
        if uid:
            asked["metadata"]["uid"] = uid  # type: ignore[index]
        verbs = Verbs([labelled("a", "1"), node("b"), node("c")], recorder=self.recent)
        verbs.ask(verb, cache_mode(names, asked))

    def bind(self, node: str, step: Step, pod: str = "p") -> None:
        answering = partial(answer_bind, binder=ScriptedBinder(step))
        endpoint = VerbEndpoint("bind", EndpointSettings(), answering, failed, recorder=self.recent)
        endpoint.handle(http_event(body_of(binding(pod, uid=f"uid-{pod}", node=node)), "POST /scheduler/bind"))


def attempts(server: Server, pod: str = "p") -> Attempts:
    found = read_attempts(server, "ml", pod)
    assert isinstance(found, Attempts)
    return found


def test_reads_the_attempts_of_the_pod_the_oldest_first() -> None:
    server = Server()
    server.decide("b", "c", "new")
    server.decide("b", pod="other")
    server.decide("a", "b")
    found = attempts(server)
    assert [(each.at, each.nodes, each.feasible) for each in found.all] == [(1.0, 3, 0), (3.0, 2, 1)]
    assert [(each.code, each.count, each.examples) for each in found.all[0].reasons] == [
        ("PriorityLabelMissing", 2, ("b", "c")),
        ("NodeNotInCache", 1, ("new",)),
    ]


def test_prioritize_is_no_attempt_of_its_own() -> None:
    server = Server()
    server.decide("a", "b")
    server.decide("a", verb="prioritize")
    assert [each.verb for each in attempts(server).all] == ["filter"]


def test_calls_of_prioritize_are_the_attempts_where_filter_is_not_called() -> None:
    server = Server()
    server.decide("a", verb="prioritize")
    assert [(each.verb, each.is_rejected) for each in attempts(server).all] == [("prioritize", False)]


def test_reads_the_last_pod_of_the_name() -> None:
    server = Server()
    server.decide("b", uid="first")
    server.decide("b", uid="second")
    found = attempts(server)
    assert ([each.at for each in found.all], found.is_complete) == ([2.0], True)


@pytest.mark.parametrize(
    ("step", "pending", "bind"),
    [
        pytest.param(created(), False, ("bound", "a", ""), id="bound"),
        pytest.param(refused(403, "not allowed"), True, ("refused", "a", "not allowed"), id="a bind that failed"),
    ],
)
def test_the_bind_that_followed_says_whether_the_pod_is_pending(
    step: Step, pending: bool, bind: tuple[str, str, str]
) -> None:
    server = Server()
    server.decide("a", "b")
    server.bind("a", step)
    found = attempts(server)
    assert found.bind is not None
    assert (found.is_pending, len(found.all)) == (pending, 1)
    assert (found.bind.outcome, found.bind.node, found.bind.error) == bind


def test_a_bind_before_the_last_attempt_says_nothing_about_it() -> None:
    server = Server()
    server.bind("a", refused(403, "not allowed"))
    server.decide("a", "b")
    assert attempts(server).bind is None


def test_a_call_that_failed_is_an_attempt_with_its_cause() -> None:
    server = Server()
    Verbs(recorder=server.recent).ask("filter", cache_mode(["a"], pod_object("p")))
    [found] = attempts(server).all
    assert (found.outcome, found.is_rejected) == ("failure-cache-unavailable", True)
    assert found.error.startswith("the node cache is empty")


SMALL = 4
"""So many records are kept."""


@pytest.mark.parametrize(
    ("decisions", "complete"),
    [
        pytest.param("p p", True, id="nothing was dropped"),
        pytest.param("p o o o p", False, id="its first attempt was dropped, and others before its second are kept"),
        pytest.param("o o o p p", False, id="records were dropped before its first attempt"),
        pytest.param("- o o e p p", True, id="the pod that had its name was there after what was dropped"),
        pytest.param("e o o o p p", False, id="the pod that had its name was dropped"),
        pytest.param("f o o o f f f f p", False, id="a failed call was dropped, and older decisions are kept"),
    ],
)
def test_is_complete_where_older_attempts_cannot_have_been_dropped(decisions: str, complete: bool) -> None:
    """o: of another pod, e: of an earlier pod of the name, f: a failed call of the pod, p: its other attempts."""
    server = Server(recent=RecentDecisions(map(float, count(1)).__next__, most_records=SMALL))
    for each in decisions.split():
        match each:
            case "f":
                Verbs(recorder=server.recent).ask("filter", cache_mode(["a"], pod_object("p")))
            case "p":
                server.decide("b", uid="now")
            case "e":
                server.decide("b", uid="earlier")
            case _:
                server.decide("b", pod="other")
    assert attempts(server).is_complete is complete


def test_is_not_complete_where_one_answer_has_not_all() -> None:
    server = Server()
    for _ in range(MOST_ANSWERED):
        server.decide("b")
    assert not attempts(server).is_complete


def test_is_not_complete_where_an_earlier_release_does_not_say_what_it_dropped() -> None:
    """As far as its answer can be read at all."""
    answer = recorded()
    content = orjson.loads(answer.body)
    del content["droppedUntil"]
    found = read_attempts(Server(answer=answered(content)), "ml", "p")
    assert isinstance(found, Attempts)
    assert not found.is_complete


@pytest.mark.parametrize(
    ("asked", "node", "wanted"),
    [
        pytest.param("a b c", "b", (True, False, ["PriorityLabelMissing"]), id="rejected"),
        pytest.param("a b c", "a", (True, True, []), id="passed"),
        pytest.param("a", "c", (False, False, []), id="not asked"),
        pytest.param("new", "new", (True, False, ["NodeNotInCache"]), id="unknown to the cache"),
    ],
)
def test_reads_what_the_last_attempt_decided_on_a_node(
    asked: str, node: str, wanted: tuple[bool, bool, list[str]]
) -> None:
    server = Server()
    server.decide("b")
    server.decide(*asked.split())
    found = read_verdict(server, "ml", "p", node)
    assert isinstance(found, RecordedVerdict)
    assert (found.was_asked, found.passes, [each.code for each in found.reasons]) == wanted


def test_reads_why_nothing_was_decided_on_a_node() -> None:
    server = Server()
    Verbs(recorder=server.recent).ask("filter", cache_mode(["a"], pod_object("p")))
    found = read_verdict(server, "ml", "p", "a")
    assert isinstance(found, RecordedVerdict)
    assert (found.passes, found.error[:23]) == (False, "the node cache is empty")


def test_a_pod_without_records_has_no_verdict_on_a_node() -> None:
    assert isinstance(read_verdict(Server(), "ml", "p", "a"), NoRecord)


def recorded(**changed: Any) -> HttpResponse:
    """The answer with one record, with these keys changed."""
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
            id="nobody answers",
        ),
        pytest.param(
            answered({"message": "Not Found"}, 404),
            "/decisions answers 404; is it a berth serve of this release? A stack has no such route",
            id="a stack, or an earlier release",
        ),
        pytest.param(answered({"reason": "not allowed"}, 401), "/decisions answers 401; not allowed", id="refused"),
        pytest.param(
            recorded(version=2),
            "its records have version 2, and this berth reads version 1; install the release of the server here",
            id="a later version",
        ),
        pytest.param(
            recorded(reasons=None),
            "/decisions cannot be read: decisions.0.reasons: Input should be a valid list",
            id="another form",
        ),
    ],
)
def test_says_in_one_line_what_is_wrong(answer: HttpResponse | NoResponse, message: str) -> None:
    with pytest.raises(RecordsUnavailable) as raised:
        read_attempts(Server(answer=answer), "ml", "p")
    assert str(raised.value) == f"{ADDRESS}: {message}"


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
            {"decisions": "log"},
            0,
            "keeps no records in memory: its configuration has decisions: log (they are in its log, one of a hundred); "
            "set decisions: memory",
            id="records in the log",
        ),
        pytest.param(
            {"decisions": "table"},
            0,
            "keeps no records in memory: its configuration has decisions: table (with --store dynamodb they are in the "
            "cache table: berth explain --table NAME); set decisions: memory",
            id="records in the table",
        ),
        pytest.param(
            {"decisions": "file"},
            0,
            "keeps no records in memory: its configuration has decisions: file (they are in the file of "
            "--decisions-file); set decisions: memory",
            id="records in a file",
        ),
        pytest.param(
            {"decisions": "memory"},
            0,
            "has no records: no scheduler has called it since it started; try berth doctor",
            id="no call yet, with records in memory",
        ),
        pytest.param(
            {},
            0,
            "has no records: no scheduler has called it since it started; try berth doctor",
            id="no call yet",
        ),
        pytest.param(
            {},
            2,
            "has no record of pod ml/p: it is not among its 2 decisions since 1970-01-01T00:00:01+00:00; "
            "check the name, and the pod's schedulerName",
            id="a pod that was never seen",
        ),
    ],
)
def test_says_why_there_is_no_record(configuration: dict[str, str], decisions: int, reason: str) -> None:
    server = Server(health=answered({"configuration": configuration}))
    for _ in range(decisions):
        server.decide("b", pod="other")
    assert read_attempts(server, "ml", "p") == NoRecord(f"{ADDRESS} {reason}")


def test_reads_the_configuration_that_the_server_decides_by() -> None:
    server = Server(health=answered({"configuration": {"profile": "label-priority"}}))
    assert running_configuration(server).profile == "label-priority"


def test_says_that_the_server_does_not_say_its_configuration() -> None:
    with pytest.raises(RecordsUnavailable, match="give --config or --profile"):
        running_configuration(Server(health=answered({})))
