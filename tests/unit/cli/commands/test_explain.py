"""`berth explain` on a dump: the verdict first, exit statuses, one line for bad input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from berth_cli.commands.explain import explain
from tests.builders.custom_plugins import MODULE, NAMED, installed_plugins
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.cli.explanation.cases import Object

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
LONG_AGO = {"creationTimestamp": "2020-01-01T00:00:00Z"}


def run(folder: Path, *arguments: str, objects: Sequence[Object]) -> Result:
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": objects}))
    return CliRunner().invoke(explain, [*arguments, "--cluster", str(dump)])


PENDING: list[Object] = [
    *(node_with(f"n{number}") for number in range(5)),
    node_with("t", {PRIORITY: "1"}, taints=[TAINT]),
    pod_with("p"),
]


@pytest.mark.parametrize(
    ("objects", "status", "headline"),
    [
        pytest.param([node_with("a"), pod_with("p")], 0, "can be placed, on a: 1 of 1 nodes fit", id="placeable"),
        pytest.param(
            [node_with("a"), node_with("b"), pod_with("p", nodeName="b")],
            0,
            "on node b; without it, 2 of 2 nodes fit",
            id="placed",
        ),
        pytest.param([node_with("a", taints=[TAINT]), pod_with("p")], 1, "pending: 0 of 1 nodes fit", id="pending"),
        pytest.param(
            [
                node_with("a"),
                pod_with("low", nodeName="a", requests={"cpu": "4"}, priority=0),
                pod_with("p", requests={"cpu": "4"}, priority=5),
            ],
            0,
            "pending: 0 of 1 nodes fit; preemption would place it on a",
            id="placeable by preemption",
        ),
        pytest.param(
            [node_with("a"), pod_with("p", schedulingGates=[{"name": "example.com/gate"}])],
            1,
            "pending: its scheduling gates hold it (example.com/gate); 1 of 1 nodes fit",
            id="gated",
        ),
        pytest.param(
            [node_with("a"), pod_with("p", status={"phase": "Succeeded"})],
            0,
            "has ended; if it were new, 1 of 1 nodes fit",
            id="finished",
        ),
    ],
)
def test_begins_with_the_verdict(tmp_path: Path, objects: list[Object], status: int, headline: str) -> None:
    done = run(tmp_path, "p", objects=objects)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (status, f"default/p: {headline}")


def test_names_a_scheduler_that_never_tried_the_pod(tmp_path: Path) -> None:
    done = run(
        tmp_path, "p", objects=[node_with("a"), pod_with("p", schedulerName="default-schedulr", metadata=LONG_AGO)]
    )
    first, second, *_ = done.stdout.splitlines()
    assert done.exit_code == 1
    assert first.endswith("no scheduler named default-schedulr has tried it; 1 of 1 nodes fit")
    assert second == "  did you mean default-scheduler? A pod's schedulerName cannot be changed: create the pod again"


UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
UNCHECKED = "spec.volumes[].persistentVolumeClaim: volumes are not checked; the scheduler may reject more nodes"
REFUSED = 'Post "http://127.0.0.1:8080/scheduler/filter": dial tcp 127.0.0.1:8080: connect: connection refused'


def condition(reason: str, message: str) -> dict[str, object]:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}]}


@pytest.mark.parametrize(
    ("pod", "status", "lines"),
    [
        pytest.param(
            pod_with("p", status=condition("SchedulerError", REFUSED)),
            1,
            [f"default/p: pending: the scheduler says: {REFUSED}; 1 of 1 nodes fit", ""],
            id="Berth is down",
        ),
        pytest.param(
            pod_with("p", volumes=CLAIM, status=condition("Unschedulable", UNBOUND)),
            1,
            [f"default/p: pending: the scheduler says: {UNBOUND}; 1 of 1 nodes fit", f"  {UNCHECKED}"],
            id="a claim without a volume",
        ),
        pytest.param(
            pod_with("p", volumes=CLAIM),
            0,
            ["default/p: can be placed, on a: 1 of 1 nodes fit", f"  {UNCHECKED}"],
            id="a claim, and no scheduler has tried the pod",
        ),
        pytest.param(
            pod_with("p", status=condition("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")),
            0,
            [
                "default/p: can be placed, on a: 1 of 1 nodes fit",
                "  the scheduler says: 0/1 nodes are available: 1 Insufficient cpu.",
            ],
            id="a node fits by now",
        ),
    ],
)
def test_says_what_the_scheduler_says_and_what_is_not_checked(
    tmp_path: Path, pod: Object, status: int, lines: list[str]
) -> None:
    done = run(tmp_path, "p", objects=[node_with("a"), pod])
    assert (done.exit_code, done.stdout.splitlines()[:2]) == (status, lines)


def test_json_has_codes_and_verified_changes(tmp_path: Path) -> None:
    done = run(tmp_path, "p", "--profile", "label-priority", "-o", "json", objects=PENDING)
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["version"], found["reasonCodesVersion"], found["verdict"]) == (1, 1, "pending")
    assert [(each["code"], each["by"], each["count"]) for each in found["reasons"]] == [
        ("PriorityLabelMissing", "Berth", 5),
        ("UntoleratedTaint", "kube-scheduler", 1),
    ]
    assert found["counterfactuals"][0] == {
        "changes": [
            {
                "kind": "LabelNode",
                "text": f"add the label {PRIORITY}=1 to node n0",
                "node": "n0",
                "labels": {PRIORITY: "1"},
            }
        ],
        "fits": ["n0"],
    }


def test_node_shows_every_plugin_of_both(tmp_path: Path) -> None:
    done = run(tmp_path, "p", "--node", "t", "--profile", "label-priority", "-o", "json", objects=PENDING)
    found = json.loads(done.stdout)
    rejecting = [(each["by"], each["plugin"], each["reasonCodes"]) for each in found["plugins"] if each["reasons"]]
    assert (done.exit_code, found["fits"]) == (1, False)
    assert rejecting == [("kube-scheduler", "TaintToleration", ["UntoleratedTaint"])]
    assert {each["plugin"] for each in found["plugins"]} >= {"NodePriorityLabel", "NodeResourcesFit", "NodeReady"}


@pytest.mark.parametrize(
    ("arguments", "objects", "message"),
    [
        pytest.param(
            ["trian"],
            [node_with("a"), pod_with("train")],
            "has no pod default/trian; did you mean default/train?",
            id="a misspelled name",
        ),
        pytest.param(
            ["p"],
            [node_with("a"), pod_with("p", namespace="ml")],
            "has no pod default/p; did you mean ml/p?",
            id="another namespace",
        ),
        pytest.param(
            ["gone"],
            [node_with("a")],
            "has no pod default/gone: it is gone, or newer than the dump; dump again, or check the name",
            id="a pod that is gone",
        ),
        pytest.param(
            ["p"],
            [pod_with("p")],
            "has no nodes; make a dump with: kubectl get nodes,pods -A -o json > FILE",
            id="a dump without nodes",
        ),
        pytest.param(
            ["p", "--node", "gpu-01"],
            [node_with("gpu-1"), pod_with("p")],
            "the cluster has no node gpu-01; did you mean gpu-1?",
            id="a node that is not there",
        ),
        pytest.param(
            ["p"],
            [node_with("a"), pod_with("p", requests={"cpu": "much"})],
            "pod default/p: Pod.spec.containers[].resources.requests has a quantity that cannot be parsed",
            id="a pod that cannot be read",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    tmp_path: Path, arguments: list[str], objects: list[Object], message: str
) -> None:
    done = run(tmp_path, *arguments, objects=objects)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.rstrip().endswith(message)


def test_names_plugin_that_fails(tmp_path: Path) -> None:
    with installed_plugins(tmp_path):
        (tmp_path / "berth_plugins" / "mine.py").write_text(MODULE.replace("return SUCCESS", "return None"))
        configuration = tmp_path / "berth.yaml"
        configuration.write_text(NAMED)
        done = run(tmp_path, "p", "--config", str(configuration), objects=[node_with("a"), pod_with("p")])
    assert done.exit_code == 1
    message = "plugin berth_plugins.mine:Passes failed in filter on node a: it returned None (NoneType), not a Status"
    assert f"pod p: {message}" in done.stderr
