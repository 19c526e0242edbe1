"""GET /decisions: the last decisions, of one pod or of all."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from berth.decisions.document import MAX_WITH_NODES
from berth.runtime.http.endpoint import EndpointSettings
from berth_cli.server.endpoints.decisions import decisions_endpoint
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs

NOW = 1_800_000_000.0


def answer(recent: RecentDecisions, query: str = "") -> tuple[int, dict[str, Any]]:
    event = {**http_event(None, "GET /decisions"), "rawQueryString": query}
    found = decisions_endpoint(EndpointSettings(), recent).handle(event)
    return found["statusCode"], orjson.loads(found["body"])


def recorded(*pods: str) -> RecentDecisions:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([node("a")], recorder=recent)
    for pod in pods:
        verbs.ask("filter", cache_mode(["a"], pod_object(pod)))
    return recent


@pytest.mark.parametrize(
    ("query", "pods"),
    [
        pytest.param("", ["p", "q", "p"], id="all"),
        pytest.param("pod=ml/p", ["p", "p"], id="one pod"),
        pytest.param("pod=ml%2Fq", ["q"], id="encoded"),
        pytest.param("pod=ml/unknown", [], id="a pod that was not seen"),
    ],
)
def test_returns_the_decisions_of_a_pod(query: str, pods: list[str]) -> None:
    status, found = answer(recorded("p", "q", "p"), query)
    assert (status, found["kept"], found["since"]) == (200, 3, NOW)
    assert [each["name"] for each in found["decisions"]] == pods
    assert answer(recorded(), query) == (200, {"kept": 0, "since": None, "decisions": []})


def test_nodes_option_returns_every_node_of_the_newest_decisions() -> None:
    _, found = answer(recorded(*(["p"] * (MAX_WITH_NODES + 1))), "pod=ml/p&nodes=1")
    assert len(found["decisions"]) == MAX_WITH_NODES
    [last] = found["decisions"][-1:]
    assert (last["nodeNames"], [each["bitmap"] for each in last["reasons"]]) == (["a"], ["1"])


@pytest.mark.parametrize(
    ("query", "by_plugin"),
    [
        pytest.param("", None, id="all pods: up to 50 decisions"),
        pytest.param("nodes=1", {"NodePriorityLabel": 3}, id="all pods, every node: up to 3 decisions"),
        pytest.param("pod=ml/p", {"NodePriorityLabel": 3}, id="one pod"),
    ],
)
def test_computes_scores_by_plugin_only_for_one_pod_or_with_every_node(query: str, by_plugin: object) -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([labelled("a", "3")], recorder=recent)
    verbs.ask("prioritize", cache_mode(["a"], pod_object("p")))
    _, found = answer(recent, query)
    assert [each["best"] for each in found["decisions"]] == [[{"node": "a", "score": 3, "byPlugin": by_plugin}]]


@pytest.mark.parametrize("query", ["pod=p", "pod=/p", "pod=ml/"])
def test_rejects_an_invalid_pod_name(query: str) -> None:
    assert answer(recorded("p"), query) == (400, {"reason": "pod is not NAMESPACE/NAME"})


HEADER = {*["version", "reasonCodesVersion", "time", "verb", "outcome", "milliseconds", "configurationHash"]} | {
    *["cacheVersion", "cacheAgeSeconds", "namespace", "name", "uid"]
}


@pytest.mark.parametrize(
    ("query", "pods"),
    [
        pytest.param("node=b", ["q", "r"], id="a node"),
        pytest.param("node=b&pod=ml/r", ["r"], id="a node and a pod"),
        pytest.param("node=b&nodes=1", ["q", "r"], id="a node with other parameters"),
        pytest.param("node=%C3%A9%00%27%22%3Cscript%3E", [], id="no node"),
    ],
)
def test_returns_headers_of_all_decisions_that_evaluated_a_node(query: str, pods: list[str]) -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([node("a"), node("b")], recorder=recent)
    for pod, names in (("p", ["a"]), ("q", ["a", "b"]), ("r", ["b"])):
        verbs.ask("filter", cache_mode(names, pod_object(pod)))
    status, found = answer(recent, query)
    assert (status, found["kept"]) == (200, 3)
    assert [each["name"] for each in found["decisions"]] == pods
    assert all(each.keys() == HEADER for each in found["decisions"])
