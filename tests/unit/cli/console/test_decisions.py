"""The numbered decisions of this process, and filters on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import orjson
import pytest

from berth.bind.answer import answer_bind, failed
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.objects import NodeInfo
from berth_cli.console.access import Refusal
from berth_cli.console.cluster import NotRead
from berth_cli.console.decisions import SUMMARY_NODES, DecisionDocuments, DecisionsHere, DecisionSource
from berth_cli.installation.doctor.checks.verbs import probe
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode
from tests.fakes.binder import ScriptedBinder, Step, created, pod_on, refused
from tests.fakes.verbs import Verbs

MANY = [node(f"n{number:02}") for number in range(SUMMARY_NODES + 5)]
NODES = [labelled("a", "10"), labelled("b", "20"), node("c")]


class Deciding:
    """Verbs that record their decisions. most: the maximum number of records."""

    def __init__(self, most: int = 1000, nodes: Sequence[NodeInfo] = NODES) -> None:
        self._recent = RecentDecisions(map(float, count(1)).__next__, most_records=most)
        self._verbs = Verbs(nodes, recorder=self._recent)
        self._names = [each.name for each in nodes]
        self.decisions = DecisionsHere(self._recent)

    def decide(self, *pods: str, verb: str = "filter", namespace: str = "ml") -> None:
        for pod in pods:
            self._verbs.ask(verb, cache_mode(self._names, pod_object(pod, namespace=namespace)))

    def bind(self, pod: str, step: Step) -> None:
        answering = partial(answer_bind, binder=ScriptedBinder(pod_on("", f"uid-{pod}"), step))
        endpoint = VerbEndpoint("bind", EndpointSettings(), answering, failed, recorder=self._recent)
        endpoint.handle(http_event(body_of(binding(pod, uid=f"uid-{pod}", node="a")), "POST /scheduler/bind"))

    def probe(self) -> None:
        """Call the verbs as `berth doctor` does."""
        for field, verb in (("filterVerb", "filter"), ("prioritizeVerb", "prioritize"), ("preemptVerb", "preempt")):
            assert self._verbs.send(verb, probe(field, [])).status == 200

    def asked(self, **query: str) -> Any:
        answer = DecisionDocuments(self.decisions).decisions(query)
        assert isinstance(answer, bytes)
        return orjson.loads(answer)

    @property
    def numbers(self) -> list[tuple[int, object]]:
        """The numbers of the decisions, with the names of their pods."""
        return [(each.number, each.record["name"]) for each in self.decisions.all()]

    @property
    def summary(self) -> Mapping[str, Any]:
        [found] = self.decisions.all()
        return found.record

    def details(self, number: int) -> Mapping[str, Any]:
        return next(each.details() for each in self.decisions.all() if each.number == number)


def test_decisions_of_a_pod_include_all_its_calls_in_chronological_order() -> None:
    deciding = Deciding()
    deciding.decide("p", "q")
    deciding.decide("p", namespace="web")
    deciding.bind("p", refused(403, "binds are forbidden"))
    found = deciding.decisions.of_pod("ml", "p")
    assert [(each["verb"], each["uid"]) for each in found] == [("filter", "uid-p"), ("bind", "uid-p")]
    assert deciding.decisions.of_pod("ml", "r") == []


def test_calls_of_doctor_are_not_listed_as_decisions() -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.probe()
    found = deciding.asked()
    assert (found["count"], [each["name"] for each in found["decisions"]]) == (1, ["p"])


def test_decision_numbers_stay_the_same_when_old_decisions_are_dropped() -> None:
    deciding = Deciding(most=2)
    deciding.decide("p", "q")
    assert deciding.numbers == [(1, "p"), (2, "q")]
    deciding.decide("r")
    assert deciding.numbers == [(2, "q"), (3, "r")]


def test_details_of_a_decision_include_every_node() -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.decide("p", verb="prioritize")
    filtered, scored = deciding.details(1), deciding.details(2)
    assert [(each["plugin"], each["count"], each["nodes"]) for each in filtered["rejected"]] == [
        ("NodePriorityLabel", 1, ["c"])
    ]
    assert filtered["passed"] == ["a", "b"]
    assert {each["node"]: each["score"] for each in scored["scores"]}["b"] > 0


def test_summary_includes_every_field_that_the_page_filters_by() -> None:
    """The fields are pod, verb, reason, plugin and nodes. A reason of many nodes lists only the first nodes."""
    deciding = Deciding(nodes=[labelled("a", "10"), *MANY])
    deciding.decide("p")
    found = deciding.summary
    [reason] = found["reasons"]
    assert (found["verb"], found["namespace"], found["name"], found["outcome"]) == ("filter", "ml", "p", "feasible")
    assert (reason["plugin"], reason["count"]) == ("NodePriorityLabel", len(MANY))
    assert reason["nodes"] == [each.name for each in MANY[:SUMMARY_NODES]]


def test_binds_and_failed_calls_are_numbered_with_the_decisions() -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.bind("p", created())
    deciding.decide("q")
    deciding.bind("q", refused(403, "binds are forbidden"))
    assert deciding.numbers == [(1, "p"), (2, "p"), (3, "q"), (4, "q")]
    placed, refusal = deciding.details(2), deciding.details(4)
    assert (placed["verb"], placed["chosen"], placed["rejected"], placed["scores"]) == ("bind", "a", [], [])
    assert (placed["passed"], refusal["passed"]) == (["a"], [])
    assert "binds are forbidden" in refusal["error"]


def documents(deciding: Deciding, key: str) -> bytes | Refusal:
    return DecisionDocuments(deciding.decisions).decision({"key": key})


def test_decision_is_found_by_its_number_and_time() -> None:
    deciding = Deciding()
    deciding.decide("p", "q")
    [newest, _] = deciding.asked()["decisions"]
    found = documents(deciding, newest["key"])
    assert isinstance(found, bytes)
    assert (orjson.loads(found)["name"], newest["key"]) == ("q", "2@2.0")


@pytest.mark.parametrize("key", ["", "2", "2@1.0", "99@2.0", "<script>"])
def test_dropped_decision_is_not_found(key: str) -> None:
    """After a restart, the same number belongs to another decision."""
    deciding = Deciding()
    deciding.decide("p", "q")
    found = documents(deciding, key)
    assert isinstance(found, Refusal)
    assert (found.status, found.reason) == (404, "this decision is not kept any more")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param({}, ["web", "p", "p", "p"], id="all, the newest first"),
        pytest.param({"verb": "bind"}, ["p"], id="a verb"),
        pytest.param({"filter": " ML/P "}, ["p", "p", "p"], id="a pod, case-insensitive"),
        pytest.param({"filter": "nodeprioritylabel"}, ["web", "p"], id="a plugin"),
        pytest.param({"filter": "didn't have the priority"}, ["web", "p"], id="a part of a reason"),
        pytest.param({"filter": "n01"}, ["web", "p", "p"], id="a node that the summary names"),
        pytest.param({"filter": MANY[-1].name}, ["web", "p", "p"], id="an evaluated node outside the summary"),
        pytest.param({"filter": MANY[-1].name[:-1] + "x"}, [], id="an unknown node"),
        pytest.param({"filter": "<script>\x00"}, [], id="any text"),
        pytest.param({"reason": "node(s) didn't have the priority label x"}, [], id="an unknown reason"),
        pytest.param({"verb": "filter", "filter": "web"}, ["web"], id="two filters"),
    ],
)
def test_filter_returns_matching_decisions(query: Mapping[str, str], found: list[str]) -> None:
    deciding = Deciding(nodes=[labelled("a", "10"), *MANY])
    deciding.decide("p")
    deciding.bind("p", created())
    deciding.decide("p", verb="prioritize")
    deciding.decide("web")
    answer = deciding.asked(**query)
    assert ([each["name"] for each in answer["decisions"]], answer["count"]) == (found, 4)
    assert answer["matching"] == len(found)


class Away(DecisionSource):
    def all(self) -> NotRead:
        return NotRead("the table is throttled")

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, Any]]:
        return []


@pytest.mark.parametrize(
    ("source", "status", "reason"),
    [(None, 404, "start berth serve with --console"), (Away(), 503, "the table is throttled")],
)
def test_reports_why_decisions_are_missing(source: DecisionSource | None, status: int, reason: str) -> None:
    documents = DecisionDocuments(source)
    for found in (documents.decisions({}), documents.decision({"key": "1@1.0"})):
        assert isinstance(found, Refusal)
        assert (found.status, reason in found.reason) == (status, True)
