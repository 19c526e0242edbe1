"""Berth's answers to the cases that are compared: results of valid and invalid ones."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from typing import Any

import orjson
import pytest

from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
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
def test_ignores_pod_itself_among_objects(pod: Object, also: Object) -> None:
    assert ask(pod, node_with("a", allocatable={"pods": "1"}), also)["verdicts"]["a"]["code"] == "Success"


BROKEN = pod_with("o", requests={"cpu": "much"}, nodeName="bad")


@pytest.mark.parametrize(
    ("objects", "code", "reasons"),
    [
        pytest.param(
            [{"kind": "Node", "metadata": {"name": "bad"}}], "Unschedulable", ["Too many pods"], id="no status"
        ),
        pytest.param(
            [node_with("bad", status={"allocatable": {"cpu": "4"}})], "Unschedulable", ["Too many pods"], id="no pods"
        ),
        pytest.param(
            [node_with("bad", allocatable={"cpu": "much"})],
            "Error",
            ["node(s) had a status that cannot be read"],
            id="a quantity that is none",
        ),
        pytest.param(
            [node_with("bad", status={"conditions": "Ready"})],
            "Error",
            ["node(s) had a status that cannot be read"],
            id="conditions that are none",
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
            id="a taint that is none",
        ),
        pytest.param(
            [node_with("bad"), BROKEN],
            "Error",
            ["node(s) had a pod that cannot be read"],
            id="a pod that cannot be read",
        ),
        pytest.param([node_with("bad"), BROKEN | {"status": {"phase": "Failed"}}], "Success", [], id="but has ended"),
    ],
)
def test_unreadable_node_does_not_affect_others(objects: list[Object], code: str, reasons: list[str]) -> None:
    answer = ask(pod_with(), *objects, node_with("good"), node_with("better"))
    verdict = answer["verdicts"]["bad"]
    assert (verdict["code"], verdict["reasons"]) == (code, reasons)
    assert [answer["verdicts"][name]["code"] for name in ("good", "better")] == ["Success", "Success"]
    assert {"good", "better"} <= answer["total"].keys()
    assert answer["error"] is None


MUCH = pod_with(requests={"cpu": "much"})


@pytest.mark.parametrize(
    ("pod", "error"),
    [
        pytest.param(None, "Pod is not an object", id="no pod"),
        pytest.param(MUCH, "Pod.spec.containers[].resources.requests has a quantity that cannot", id="a quantity"),
        pytest.param(pod_with(labels={"app": 1}), "Pod.metadata.labels is not a map of strings", id="a label"),  # type: ignore[dict-item]
        pytest.param(pod_with(tolerations="all"), "Pod.spec.tolerations is not a list", id="tolerations"),
        pytest.param(pod_with(priority="high"), "Pod.spec.priority is not an integer", id="a priority"),
        pytest.param(
            pod_with(containers=[container() | {"ports": [{"hostPort": "80"}]}]),
            "Pod.spec.containers[].ports[].hostPort is not an integer",
            id="a port",
        ),
    ],
)
def test_unreadable_pod_is_error(pod: Any, error: str) -> None:
    answer = ask(pod, node_with("a"))
    assert answer["error"].startswith(error)
    assert answer["verdicts"] == {}


def spreading(**constraint: Any) -> Object:
    return pod_with(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", **constraint}])


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
            id="of a node selector term: it matches nothing",
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
            id="of a pod affinity term: it bars every node",
        ),
    ],
)
def test_unknown_operator_rejects_node(pod: Object, reason: str) -> None:
    assert ask(pod, node_with("a"))["verdicts"]["a"]["reasons"] == [reason]


@pytest.mark.parametrize(
    ("action", "error"),
    [
        pytest.param(
            "DoNotSchedule",
            'running PreFilter plugin "PodTopologySpread": pod has a topology spread constraint that cannot be parsed',
            id="to filter by",
        ),
        pytest.param(
            "ScheduleAnyway",
            'running PreScore plugin "PodTopologySpread": pod has a topology spread constraint that cannot be parsed',
            id="to score by",
        ),
    ],
)
def test_unknown_operator_in_spread_constraint_is_error(action: str, error: str) -> None:
    answer = ask(spreading(labelSelector=ODD, whenUnsatisfiable=action), node_with("a"), node_with("b"))
    assert answer["error"] == error


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        pytest.param({"objects": {}}, "objects is not a list", id="objects"),
        pytest.param({"profile": "none"}, "profile: Input should be", id="an unknown profile"),
        pytest.param({"profile": 7}, "profile is not a name", id="a profile that is none"),
        pytest.param({"args": []}, "args is not an object", id="args"),
        pytest.param({"args": {"NodeName": {"x": 1 << 64}}}, "args: Integer exceeds 64-bit range", id="65 bits"),
        pytest.param({"args": {"Nothing": {}}}, "pluginConfig.0.name: Input should be", id="an unknown plugin"),
        pytest.param({"args": {"NodeName": {"x": 1}}}, "pluginConfig.0.args.x: Extra inputs", id="an unknown argument"),
        pytest.param(
            {"objects": [{"kind": "Namespace", "metadata": {"name": "n", "labels": 1}}]},
            "Namespace.metadata.labels is not a map of strings",
            id="an object that concerns the whole cluster",
        ),
        pytest.param({"objects": [node_with("")]}, "a node has no metadata.name", id="a node without a name"),
    ],
)
def test_invalid_case_is_error(fields: Object, error: str) -> None:
    answer = berth.answer({"objects": [], "pod": pod_with(), **fields})
    assert error in answer["error"]
    assert answer["verdicts"] == answer["scores"] == answer["total"] == {}


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


def case_line(name: str) -> bytes:
    return orjson.dumps({"objects": [node_with(name)], "pod": pod_with()}) + b"\n"


def answers(*lines: bytes) -> list[dict[str, object]]:
    out = BytesIO()
    berth.run(lines, out)
    return [orjson.loads(line) for line in out.getvalue().splitlines()]


def test_answers_lines_in_order() -> None:
    assert [list(answer["verdicts"]) for answer in answers(case_line("a"), case_line("b"))] == [["a"], ["b"]]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"\n", id="nothing"),
        pytest.param(b"{\n", id="half an object"),
        pytest.param(b"\xff\n", id="no UTF-8"),
        pytest.param(b"NaN\n", id="not a number"),
        pytest.param(b"[" * 100_000 + b"\n", id="too deep"),
    ],
)
def test_invalid_json_line_gets_error(line: bytes) -> None:
    bad, good = answers(line, case_line("a"))
    assert str(bad["error"]).startswith("the line is not JSON: ")
    assert bad.keys() == good.keys()
    assert good["error"] is None


def test_module_answers_each_line_at_once() -> None:
    command = [sys.executable, "-m", "tests.parity.answers"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin
        assert program.stdout
        for name in ("a", "b"):
            program.stdin.write(case_line(name))
            program.stdin.flush()
            assert list(orjson.loads(program.stdout.readline())["verdicts"]) == [name]
        program.stdin.close()
        assert program.wait() == 0
