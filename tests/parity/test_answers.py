"""Berth's answers to the cases that are compared: results of valid and invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.parity import answers as berth

Object = dict[str, Any]

SUCCESS = {"code": "Success", "reasons": []}


def ask(pod: Any, *objects: Any, **fields: Any) -> berth.Answer:
    return berth.answer({"objects": list(objects), "pod": pod, "profile": "full", **fields})


def test_result_has_verdicts_scores_and_totals() -> None:
    answer = ask(pod_with(requests={"cpu": "1"}), node_with("a"), node_with("b"), node_with("c", unschedulable=True))
    assert answer["verdicts"]["a"] == {
        **SUCCESS,
        "plugin": None,
        "all": dict.fromkeys(
            [
                "NodeUnschedulable",
                "NodeName",
                "TaintToleration",
                "NodeAffinity",
                "NodePorts",
                "NodeResourcesFit",
                "NodeReady",
                "PodTopologySpread",
                "InterPodAffinity",
            ],
            SUCCESS,
        ),
    }
    rejected = {"code": "UnschedulableAndUnresolvable", "reasons": ["node(s) were unschedulable"]}
    assert answer["verdicts"]["c"].items() >= {**rejected, "plugin": "NodeUnschedulable"}.items()
    assert answer["verdicts"]["c"]["all"]["NodeUnschedulable"] == rejected
    assert answer["verdicts"]["c"]["all"]["NodeName"] == SUCCESS
    assert answer["scores"]["TaintToleration"] == {"a": 100, "b": 100}
    assert answer["scores"]["NodeAffinity"] == {"a": 0, "b": 0}
    # TaintToleration 3 x 100, NodeResourcesFit 86, NodeResourcesBalancedAllocation 68.
    assert answer["total"] == {"a": 454, "b": 454}
    assert answer["preemption"] is answer["error"] is None


def test_single_candidate_has_no_score() -> None:
    answer = ask(pod_with(), node_with("a"), node_with("b", unschedulable=True))
    assert (answer["scores"], answer["total"]) == ({}, {})


def test_passes_args_to_plugins() -> None:
    pod = pod_with(requests={"example.com/gpu": "1"})
    assert ask(pod, node_with("a"))["verdicts"]["a"]["reasons"] == ["Insufficient example.com/gpu"]
    ignoring = {"NodeResourcesFit": {"ignoredResources": ["example.com/gpu"]}}
    assert ask(pod, node_with("a"), args=ignoring)["verdicts"]["a"]["code"] == "Success"


@pytest.mark.parametrize(
    ("pod", "also"),
    [
        pytest.param(pod_with("p"), pod_with("p", nodeName="a"), id="by its UID"),
        pytest.param(
            pod_with("p", metadata={"uid": ""}), pod_with("p", nodeName="a", metadata={"uid": ""}), id="by name"
        ),
    ],
)
def test_ignores_the_pod_itself_among_the_objects(pod: Object, also: Object) -> None:
    assert ask(pod, node_with("a", allocatable={"pods": "1"}), also)["verdicts"]["a"]["code"] == "Success"


BROKEN = pod_with("o", requests={"cpu": "much"}, nodeName="bad")


@pytest.mark.parametrize(
    ("objects", "code", "reasons"),
    [
        pytest.param([{"kind": "Node", "metadata": {"name": "bad"}}], "Unschedulable", ["Too many pods"], id="empty"),
        pytest.param(
            [node_with("bad", status={"allocatable": {"cpu": "4"}})], "Unschedulable", ["Too many pods"], id="no pods"
        ),
        pytest.param(
            [node_with("bad", allocatable={"cpu": "much"})],
            "Error",
            ["node(s) had a status that cannot be read"],
            id="invalid quantity",
        ),
        pytest.param(
            [node_with("bad", status={"conditions": "Ready"})],
            "Error",
            ["node(s) had a status that cannot be read"],
            id="invalid conditions",
        ),
        pytest.param(
            [node_with("bad") | {"metadata": {"name": "bad", "labels": {"rack": 7}}}],
            "Error",
            ["node(s) had labels that are not strings"],
            id="a label that is a number",
        ),
        pytest.param(
            [node_with("bad") | {"spec": {"taints": ["k"]}}],
            "Error",
            ["node(s) had a spec that cannot be read"],
            id="invalid taint",
        ),
        pytest.param([node_with("bad"), BROKEN], "Error", ["node(s) had a pod that cannot be read"], id="broken pod"),
        pytest.param([node_with("bad"), BROKEN | {"status": {"phase": "Failed"}}], "Success", [], id="finished pod"),
    ],
)
def test_unreadable_node_does_not_affect_other_nodes(objects: list[Object], code: str, reasons: list[str]) -> None:
    answer = ask(pod_with(), *objects, node_with("good"), node_with("better"))
    verdict = answer["verdicts"]["bad"]
    assert (verdict["code"], verdict["reasons"]) == (code, reasons)
    assert [answer["verdicts"][name]["code"] for name in ("good", "better")] == ["Success", "Success"]
    assert {"good", "better"} <= answer["total"].keys()
    assert answer["error"] is None


ODD = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(
            pod_with(
                affinity={
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ODD]}}
                }
            ),
            NO_AFFINITY,
            id="in a node selector term: matches no node",
        ),
        pytest.param(
            pod_with(
                affinity={
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": ODD, "topologyKey": "z"}]
                    }
                }
            ),
            'parsing pod: requiredAffinityTerms: "Near" is not a valid label selector operator',
            id="in a pod affinity term: rejects every node",
        ),
    ],
)
def test_unknown_operator_rejects_node(pod: Object, reason: str) -> None:
    assert ask(pod, node_with("a"))["verdicts"]["a"]["reasons"] == [reason]


def test_result_has_preemption_if_no_node_fits() -> None:
    def on(node: str, name: str, priority: int) -> Object:
        return pod_with(name, nodeName=node, priority=priority, requests={"cpu": "4"})

    pod = pod_with(requests={"cpu": "4"}, priority=100)
    cluster = node_with("a"), node_with("b"), node_with("c", unschedulable=True), on("a", "v", 1), on("b", "w", 2)
    assert ask(pod, *cluster)["preemption"] == {
        "nominated": "a",
        "tied": ["a"],
        "candidates": {
            "a": {"victims": ["uid-v"], "numPDBViolations": 0},
            "b": {"victims": ["uid-w"], "numPDBViolations": 0},
        },
        "reason": None,
        "violated": {},
        "others": {"b": "a victim there has a higher priority", "c": "preemption is not helpful for scheduling"},
    }
    never = {**pod, "spec": {**pod["spec"], "preemptionPolicy": "Never"}}
    assert ask(never, *cluster)["preemption"] == {
        "nominated": None,
        "tied": [],
        "candidates": {},
        "reason": "not eligible due to preemptionPolicy=Never.",
        "violated": {},
        "others": {},
    }
