"""A trial of a configuration: does the function load it, and what would it change?"""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from berth.extender.ports import CacheUnavailable
from berth.extender.reply import status_reply
from berth.runtime.http.configuration_trial import COMPARISON_SECONDS, try_configuration
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.runtime.http.events import configuration_trial
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.fakes.node_cache import FixedNodeCache

NODES = [node("a", {"old": "1"}), node("b", {"old": "2", "new": "1"}), node("c", {"new": "5"})]


def document(label: str) -> str:
    return json.dumps({"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": label}}]})


def cache(cluster: Snapshot | CacheUnavailable | None = None) -> FixedNodeCache:
    configuration = BerthConfiguration.model_validate_json(document("old"))
    return FixedNodeCache(configuration, cluster or Snapshot.of(NODES, [pod("web")]))


def test_reports_pods_that_would_be_evaluated_differently() -> None:
    report = try_configuration(document("new"), cache().for_trial)
    assert (report["error"], report["judged"], report["pending"], report["nodes"]) == ("", 1, 1, 3)
    assert report["fitting"] == {"before": 1, "after": 1}
    assert report["changes"] == [
        {
            "pod": "ml/web",
            "node": "",
            "before": {"nodes": 2, "best": "b", "reasons": {"node(s) didn't have the priority label old": 1}},
            "after": {"nodes": 2, "best": "c", "reasons": {"node(s) didn't have the priority label new": 1}},
            "lost": 1,
            "gained": 1,
        }
    ]


@pytest.mark.parametrize(
    ("tried", "error"),
    [
        pytest.param('{"profile": "x"}', "the document: profile: Input should be", id="an invalid field"),
        pytest.param("no JSON", "the document: document: Invalid JSON", id="not JSON"),
        pytest.param(None, "the document: document: Invalid JSON", id="no document"),
        pytest.param(
            '{"pluginConfig": [{"name": "berth_plugins.absent:Absent"}]}',
            "give the command --plugins DIR with the module",
            id="a plugin that is not deployed",
        ),
    ],
)
def test_reports_document_that_the_function_cannot_load(tried: object, error: str) -> None:
    for each in (None, cache().for_trial):
        report = try_configuration(tried, each)
        assert error in str(report["error"])
        assert "changes" not in report


@pytest.mark.parametrize(
    ("tried", "reads"),
    [
        pytest.param(document("new"), NODES_AND_PODS, id="a policy that reads only nodes"),
        pytest.param('{"profile": "full"}', ALL_PARTS, id="a policy that reads more than the current one"),
    ],
)
def test_reads_pods_and_the_parts_that_the_new_policy_reads(tried: str, reads: Parts) -> None:
    asked = cache()
    try_configuration(tried, asked.for_trial)
    assert asked.reads == reads


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param({"capacity": {"nodeAnnotation": "example.com/x"}}, id="an annotation of nodes"),
        pytest.param({"requests": {"podAnnotation": "example.com/x"}}, id="an annotation of pods"),
        pytest.param({"devices": {"sizes": {"nodeAnnotation": "example.com/x"}}}, id="the sizes of devices"),
    ],
)
def test_does_not_evaluate_document_whose_annotation_is_not_yet_in_the_cache(resource: dict[str, object]) -> None:
    tried = {"profile": "managed-resources", "managedResources": [{"name": "example.com/licence", **resource}]}
    report = try_configuration(json.dumps(tried), cache().for_trial)
    assert "fitting" not in report
    assert str(report["notJudged"]).startswith("the node cache has ")
    assert "example.com/x" in str(report["notJudged"])


def test_reports_why_it_cannot_evaluate_without_a_snapshot() -> None:
    report = try_configuration(document("new"), cache(CacheUnavailable("nothing is published")).for_trial)
    assert (report["error"], report["notJudged"]) == ("", "nothing is published")


def test_stops_evaluating_after_its_time_limit() -> None:
    times = iter([0.0, COMPARISON_SECONDS])
    assert try_configuration(document("new"), cache().for_trial, lambda: next(times))["judged"] == 0


def test_endpoint_tries_a_document_without_handling_a_request() -> None:
    def answer(*_: Any, **__: Any) -> Any:
        raise AssertionError("no request was made")

    endpoint = VerbEndpoint("filter", EndpointSettings(), answer, answer, trial_cache=cache().for_trial)
    body = endpoint.handle(configuration_trial(document("new")))["body"]
    assert orjson.loads(body)["judged"] == 1


def test_caller_of_the_gateway_cannot_try_a_document() -> None:
    bodies: list[object] = []

    def answer(body: object, **_: Any) -> Any:
        bodies.append(body)
        raise ValueError

    endpoint = VerbEndpoint("filter", EndpointSettings(), answer, status_reply, trial_cache=cache().for_trial)
    endpoint.handle({**configuration_trial(document("new")), "requestContext": {}, "body": "{}"})
    assert bodies == ["{}"]
