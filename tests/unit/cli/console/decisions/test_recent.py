"""The decisions of this process, with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from berth.decisions.recent import RecentDecisions
from berth.extender.bind import answer_bind, failed
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.objects import NodeInfo
from berth_cli.console.decisions.recent import SUMMARY_NODES, DecisionsHere
from berth_cli.console.decisions.source import MOST_AT_ONCE
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode
from tests.fakes.binder import ScriptedBinder, Step, created, refused
from tests.fakes.verbs import Verbs

NODES = [labelled("a", "10"), labelled("b", "20"), node("c")]


class Deciding:
    """Verbs that record. most: records that are kept."""

    def __init__(self, most: int = 1000, nodes: Sequence[NodeInfo] = NODES) -> None:
        self._recent = RecentDecisions(map(float, count(1)).__next__, most_records=most)
        self._verbs = Verbs(nodes, recorder=self._recent)
        self._names = [each.name for each in nodes]
        self.decisions = DecisionsHere(self._recent)

    def decide(self, *pods: str, verb: str = "filter", namespace: str = "ml") -> None:
        for pod in pods:
            self._verbs.ask(verb, cache_mode(self._names, pod_object(pod, namespace=namespace)))

    def bind(self, pod: str, step: Step) -> None:
        answering = partial(answer_bind, binder=ScriptedBinder(step))
        endpoint = VerbEndpoint("bind", EndpointSettings(), answering, failed, recorder=self._recent)
        endpoint.handle(http_event(body_of(binding(pod, uid=f"uid-{pod}", node="a")), "POST /scheduler/bind"))

    def after(self, number: int) -> list[tuple[object, object]]:
        return [(each["number"], each["name"]) for each in self.decisions.after(number)]

    @property
    def summary(self) -> Mapping[str, Any]:
        [found] = self.decisions.after(0)
        return found

    def details(self, number: int) -> Mapping[str, Any]:
        found = self.decisions.details(number)
        assert found is not None
        return found


def test_decisions_of_a_pod_are_all_its_calls_the_oldest_first() -> None:
    deciding = Deciding()
    deciding.decide("p", "q")
    deciding.decide("p", namespace="web")
    deciding.bind("p", refused(403, "binds are forbidden"))
    found = deciding.decisions.of_pod("ml", "p")
    assert [(each["verb"], each["uid"]) for each in found] == [("filter", "uid-p"), ("bind", "uid-p")]
    assert deciding.decisions.of_pod("ml", "r") == []


def test_each_decision_has_its_number() -> None:
    deciding = Deciding()
    assert deciding.after(0) == []
    deciding.decide("p", "q")
    assert deciding.after(0) == [(1, "p"), (2, "q")]
    deciding.decide("r")
    assert deciding.after(2) == [(3, "r")]
    assert deciding.after(3) == []


def test_numbers_stay_when_old_decisions_are_dropped() -> None:
    deciding = Deciding(most=2)
    deciding.decide("p", "q")
    assert deciding.after(0) == [(1, "p"), (2, "q")]
    deciding.decide("r")
    assert deciding.after(0) == [(2, "q"), (3, "r")]
    deciding.decide("s", "t", "u")
    assert [name for _, name in deciding.after(3)] == ["t", "u"]


def test_page_that_is_far_behind_gets_all_that_are_kept() -> None:
    deciding = Deciding()
    deciding.decide(*(f"p{number}" for number in range(2 * MOST_AT_ONCE + 5)))
    found, number = list[tuple[object, object]](), 0
    while batch := deciding.after(number):
        assert len(batch) <= MOST_AT_ONCE
        found += batch
        number = int(str(batch[-1][0]))
    assert found == [(at + 1, f"p{at}") for at in range(2 * MOST_AT_ONCE + 5)]


def test_details_have_every_node() -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.decide("p", verb="prioritize")
    deciding.after(0)
    filtered, scored = deciding.details(1), deciding.details(2)
    assert [(each["plugin"], each["count"], each["nodes"]) for each in filtered["rejected"]] == [
        ("NodePriorityLabel", 1, ["c"])
    ]
    assert filtered["passed"] == ["a", "b"]
    assert {each["node"]: each["score"] for each in scored["scores"]}["b"] > 0


def test_all_nodes_pass_where_no_rule_is_applied() -> None:
    deciding = Deciding()
    deciding.decide("p", namespace="kube-system")
    deciding.after(0)
    assert (deciding.details(1)["feasible"], deciding.details(1)["passed"]) == (None, ["a", "b", "c"])


def test_summary_has_what_a_page_filters_by() -> None:
    """Pod, verb, reason, plugin, and nodes: of one that many nodes share the first ones."""
    many = [node(f"n{number:02}") for number in range(SUMMARY_NODES + 5)]
    deciding = Deciding(nodes=[labelled("a", "10"), *many])
    deciding.decide("p")
    found = deciding.summary
    [reason] = found["reasons"]
    assert (found["verb"], found["namespace"], found["name"], found["outcome"]) == ("filter", "ml", "p", "feasible")
    assert (reason["plugin"], reason["count"]) == ("NodePriorityLabel", len(many))
    assert reason["nodes"] == [each.name for each in many[:SUMMARY_NODES]]


def test_summary_computes_no_scores_by_plugin() -> None:
    """All kept decisions go to each page that opens; only the opened one needs them."""
    deciding = Deciding()
    deciding.decide("p", verb="prioritize")
    assert [each["byPlugin"] for each in deciding.summary["best"]] == [None] * 3
    assert deciding.details(1)["best"][0]["byPlugin"] == {"NodePriorityLabel": 20}


def test_binds_and_failed_calls_have_numbers_among_the_others() -> None:
    deciding = Deciding()
    deciding.decide("p")
    deciding.bind("p", created())
    deciding.decide("q")
    deciding.bind("q", refused(403, "binds are forbidden"))
    assert deciding.after(0) == [(1, "p"), (2, "p"), (3, "q"), (4, "q")]
    placed, refusal = deciding.details(2), deciding.details(4)
    assert (placed["verb"], placed["chosen"], placed["rejected"], placed["scores"]) == ("bind", "a", [], [])
    assert (placed["passed"], refusal["passed"]) == (["a"], [])
    assert "binds are forbidden" in refusal["error"]


def test_calls_are_those_of_all_verbs() -> None:
    deciding = Deciding()
    deciding.bind("p", created())
    deciding.decide("p")
    assert [(each.at, each.verb) for each in deciding.decisions.calls()] == [(1.0, "bind"), (2.0, "filter")]


def test_decision_that_is_not_kept_has_no_details() -> None:
    deciding = Deciding(most=1)
    deciding.decide("p", "q")
    deciding.after(0)
    assert (deciding.decisions.details(0), deciding.decisions.details(99)) == (None, None)


def test_finds_the_decisions_that_judged_a_node_also_where_the_summary_does_not_name_it() -> None:
    many = [node(f"n{number:02}") for number in range(SUMMARY_NODES + 5)]
    deciding = Deciding(nodes=[labelled("a", "10"), *many])
    deciding.decide("p")
    deciding.bind("p", created())
    deciding.decide("p", verb="prioritize")
    deciding.after(0)
    assert many[-1].name not in str(deciding.decisions.after(0)[0])
    assert deciding.decisions.of_node(many[-1].name) == [1, 3]
    assert deciding.decisions.of_node("n") == []
