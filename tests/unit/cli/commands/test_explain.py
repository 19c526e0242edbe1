"""`berth explain` on a dump: the verdict first, exit statuses, one line for bad input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from berth_cli.commands.explain import explain
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
            [node_with("a", taints=[TAINT]), pod_with("p")],
            1,
            "pending: 0 of 1 nodes fit: it does not tolerate dedicated=ml:NoSchedule",
            id="pending",
        ),
    ],
)
def test_explanation_begins_with_the_verdict(tmp_path: Path, objects: list[Object], status: int, headline: str) -> None:
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


def test_json_contains_codes_and_verified_changes(tmp_path: Path) -> None:
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
            id="a deleted pod",
        ),
        pytest.param(
            ["p"],
            [pod_with("p")],
            "has no nodes; make a dump with: kubectl get nodes,pods -A -o json > FILE",
            id="a dump without nodes",
        ),
        pytest.param(
            ["p"],
            [node_with("a"), pod_with("p", requests={"cpu": "much"})],
            "pod default/p: Pod.spec.containers[].resources.requests has a quantity that cannot be parsed",
            id="an unreadable pod",
        ),
    ],
)
def test_bad_input_prints_one_line_and_exits_with_2(
    tmp_path: Path, arguments: list[str], objects: list[Object], message: str
) -> None:
    done = run(tmp_path, *arguments, objects=objects)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.rstrip().endswith(message)


def test_policy_option_for_a_stack_requires_a_kubeconfig() -> None:
    done = CliRunner().invoke(explain, ["p", "--stack", "s", "--profile", "full"])
    assert (done.exit_code, "give --kubeconfig FILE, too" in done.stderr) == (2, True)
