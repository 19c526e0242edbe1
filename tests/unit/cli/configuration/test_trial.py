"""Trying a document on the verbs' functions, and the lines that `berth config apply` prints about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from berth.runtime.http.configuration_trial import try_configuration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.configuration.trial import NO_TRIAL, Invoke, try_document
from tests.builders.custom_plugins import NAMED, installed_plugins
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.fakes.node_cache import FixedNodeCache

NEW = json.dumps({"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "new"}}]})


def function(cache: FixedNodeCache | None = None) -> Invoke:
    trial_cache = None if cache is None else cache.for_trial

    def invoke(event: Mapping[str, object]) -> object:
        return {"statusCode": 200, "body": json.dumps(try_configuration(event["document"], trial_cache))}

    return invoke


def answering(answer: object) -> Invoke:
    return lambda _: answer


def cluster() -> FixedNodeCache:
    nodes = [node("a", {"priority.lixueduan.com": "1"}), node("b", {"new": "1"})]
    return FixedNodeCache(BerthConfiguration(), Snapshot.of(nodes, [pod("web")]))


def test_prints_verbs_that_load_the_document_and_pods_evaluated_differently() -> None:
    result = try_document(NEW, {"filter": function(cluster()), "bind": function()})
    assert list(result.lines()) == [
        "filter, bind: the document can be loaded",
        "1 recent pod (1 pending) on 2 nodes: 1 would be evaluated differently",
        "  POD     NODE  BEFORE          AFTER           REASONS",
        "  ml/web  -     1 node, best a  1 node, best b  1 node(s) didn't have the priority label new",
    ]


@pytest.mark.parametrize(
    ("label", "refusal"),
    [
        pytest.param("new", "", id="another node"),
        pytest.param("absent", "none of the 1 pods that were judged would have a node", id="no node"),
    ],
)
def test_rejects_document_if_none_of_the_evaluated_pods_would_fit(label: str, refusal: str) -> None:
    result = try_document(NEW.replace("new", label), {"filter": function(cluster()), "bind": function()})
    assert result.refusal == refusal


@pytest.mark.parametrize(
    ("report", "line"),
    [
        pytest.param({"notJudged": "the cache is empty"}, "no pods were judged: the cache is empty", id="no cache"),
        pytest.param(
            {"judged": 0, "pending": 0, "nodes": 3, "fitting": {"before": 0, "after": 0}, "changes": []},
            "0 recent pods (0 pending) on 3 nodes: none would be evaluated differently",
            id="no pods",
        ),
    ],
)
def test_accepts_document_and_reports_that_pods_were_not_evaluated(report: Mapping[str, object], line: str) -> None:
    """A new stack has no pods to evaluate yet, and needs its first document."""
    answer = {"body": json.dumps({"berthVersion": "x", "error": "", **report})}
    result = try_document(NEW, {"filter": answering(answer)})
    assert (line in result.lines(), result.refusal) == (True, "")


@pytest.mark.parametrize(
    ("invoke", "error"),
    [
        pytest.param(
            answering({"statusCode": 200, "body": '{"NodeNames": [], "Error": "no pod"}'}),
            NO_TRIAL,
            id="an earlier release answers a request",
        ),
        pytest.param(answering({"errorMessage": "Task timed out"}), "the function failed: Task timed out", id="silent"),
    ],
)
def test_names_verbs_that_cannot_use_the_document(invoke: Invoke, error: str) -> None:
    result = try_document(NEW, {"filter": function(cluster()), "preempt": invoke})
    assert result.errors == {"preempt": error}
    assert (result.refusal, result.remedy) == (f"preempt: {error}", "--skip-trial applies it all the same")
    assert next(result.lines()) == "filter: the document can be loaded"


def test_rejection_names_missing_package_its_verbs_and_the_layer_to_deploy() -> None:
    document = json.loads(NAMED) | {"pluginConfig": [{"name": "berth_plugins.mine:Passes"}]}
    result = try_document(json.dumps(document), {"filter": function(), "bind": function()})
    assert result.refusal.startswith("filter, bind: the document: ")
    assert result.refusal.count("No module named 'berth_plugins'") == 1
    assert "PluginLayerArn" in result.remedy
    assert list(result.lines()) == []


def test_prints_the_plugin_version_of_the_verbs(tmp_path: Path) -> None:
    with installed_plugins(tmp_path) as version:
        result = try_document(NAMED, {"filter": function(), "bind": function()})
    assert (result.plugin_version, result.refusal) == (version, "")
    assert f"plugins: {version}" in list(result.lines())


def test_rejects_document_if_verbs_have_different_plugins() -> None:
    def having(version: str) -> Invoke:
        body = json.dumps({"berthVersion": "0.2.0", "error": "", "pluginVersion": version})
        return answering({"statusCode": 200, "body": body})

    result = try_document(NAMED, {"filter": having("1.1.0+b"), "bind": having("1.0.0+a")})
    assert result.refusal == (
        "the verbs have different plugins (filter 1.1.0+b, bind 1.0.0+a): wait for the end of the deployment"
    )
