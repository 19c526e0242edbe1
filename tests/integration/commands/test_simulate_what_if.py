"""`berth simulate` with changes, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.placement.objects import Object, deployed, gang, node

from .simulating import run

Write = Callable[..., str]


@pytest.fixture
def dump(tmp_path: Path) -> Write:
    def write(*items: Object) -> str:
        path = tmp_path / "dump.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return str(path)

    return write


def two_nodes() -> list[Object]:
    """Both with a pod of a Deployment that takes half; the second with one that fills it."""
    return [
        node("a"),
        node("b"),
        *(deployed("web-5d-1", "a", cpu="2"), deployed("web-5d-2", "b", cpu="2")),
        deployed("api-5d-1", "b", of="api", cpu="2"),
    ]


def test_shows_each_changed_pod_and_the_totals_before_and_after(dump: Write) -> None:
    done = run("--cluster", dump(*two_nodes()), "--drain", "b")
    assert done.stdout.splitlines() == [
        "NAMESPACE  POD       PRIORITY  BEFORE  AFTER   MESSAGE",
        "default    api-5d-1  0         b       a",
        "default    web-5d-2  0         b       <none>  0/2 nodes are available: 1 Insufficient cpu, "
        "1 node(s) were unschedulable.",
        "",
        "                   BEFORE  AFTER",
        "schedulable nodes  2       1",
        "of these unused    0       0",
        "pods on nodes      3       2",
        "pods pending       0       1",
        "pods evicted       0       0",
        "cpu requested      75 %    100 %",
        "memory requested   0 %     0 %",
    ]
    assert done.exit_code == 1


def test_json_lists_effect_places_and_rules_of_each_pod(dump: Write) -> None:
    done = run("--cluster", dump(*two_nodes()), "--drain", "b", "-o", "json")
    found = json.loads(done.stdout)
    assert [(each["name"], each["effect"]) for each in found["pods"]] == [
        ("api-5d-1", "moved"),
        ("web-5d-2", "newly-pending"),
    ]
    assert found["pods"][1]["before"] == {"state": "node", "node": "b"}
    assert found["pods"][1]["after"]["rules"] == [
        {"plugin": "NodeResourcesFit", "code": "InsufficientResource", "reason": "Insufficient cpu", "nodes": 1},
        {
            "plugin": "NodeUnschedulable",
            "code": "NodeUnschedulable",
            "reason": "node(s) were unschedulable",
            "nodes": 1,
        },
    ]
    assert found["summary"]["after"]["podsPending"] == 1
    assert found["summary"]["effects"]["moved"] == 1
    assert yaml.safe_load(run("--cluster", dump(*two_nodes()), "--drain", "b", "-o", "yaml").stdout) == found


def test_names_disruption_budgets_that_a_drain_waits_for(dump: Write) -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    done = run("--cluster", dump(*two_nodes(), budget), "--drain", "a")
    note = "kubectl drain waits: PodDisruptionBudget default/web does not allow 1 of the evictions now"
    assert done.stdout.splitlines()[-1] == note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(("--drain", "c"), "the dump has no node c", id="unknown node"),
        pytest.param(("--add-nodes", "3"), "--add-nodes N and --like NODE belong together", id="only a count"),
        pytest.param(("--like", "a"), "--add-nodes N and --like NODE belong together", id="only a node"),
        pytest.param(("--drain", "a", "--explain"), "--explain shows one run", id="explain with a change"),
    ],
)
def test_bad_input_prints_one_line_and_exits_with_2(dump: Write, options: tuple[str, ...], message: str) -> None:
    done = run("--cluster", dump(*two_nodes()), *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("spare", "effects"),
    [
        pytest.param([], {"train-0": "newly-pending", "train-1": "newly-pending"}, id="all members wait"),
        pytest.param([node("c")], {"train-0": "moved", "train-1": "moved"}, id="all members move"),
    ],
)
def test_drained_gang_is_placed_again_as_a_whole(
    dump: Write, tmp_path: Path, spare: list[Object], effects: Mapping[str, str]
) -> None:
    """A member that stays on its node is proof that the gang is bound: so both are drained."""
    (tmp_path / "berth.yaml").write_text("profile: full\ngangs: {enabled: true}\n")
    cluster = dump(
        node("a"), node("b"), *spare, *gang(2, "a", "a", cpu="2", owner="Job/train"), deployed("web-1", "b", cpu="2")
    )
    options = ("--config", str(tmp_path / "berth.yaml"), "--drain", "a", "-o", "json")
    found = json.loads(run("--cluster", cluster, *options).stdout)
    assert {each["name"]: each["effect"] for each in found["pods"]} == effects
