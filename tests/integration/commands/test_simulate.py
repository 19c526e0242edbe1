"""`berth simulate` from the command line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth_cli.placement.report import NO_PODS
from tests.conftest import PROJECT
from tests.unit.cli.placement.objects import Object, deployed, gang
from tests.unit.cli.placement.objects import node as plain_node

from .simulating import places, run


def node(name: str, cpu: str = "2", labels: Mapping[str, str] | None = None) -> dict[str, object]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }


def pod(name: str, cpu: str = "1", **spec: object) -> dict[str, object]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


Write = Callable[..., str]


@pytest.fixture
def dump(tmp_path: Path) -> Write:
    def write(*items: object, name: str = "dump.json") -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return str(path)

    return write


def test_table_has_one_line_per_pod_and_a_summary(dump: Write) -> None:
    done = run("--cluster", dump(node("a"), pod("small"), pod("large", "3", priority=5)))
    assert done.exit_code == 1
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "NAMESPACE  POD    PRIORITY  NODE    MESSAGE",
        "default    large  5         <none>  0/1 nodes are available: 1 Insufficient cpu.",
        "default    small  0         a",
        "",
        "1 of 2 pods placed",
    ]


def test_exits_with_0_if_all_pods_are_placed(dump: Write) -> None:
    assert run("--cluster", dump(node("a"), pod("small"))).exit_code == 0
    done = run("--cluster", dump(node("a"), pod("there", nodeName="a")))
    assert (done.exit_code, done.stdout) == (0, f"{NO_PODS}\n")


GATES = [{"name": "quota"}]
OTHER = "other-scheduler"


@pytest.mark.parametrize(
    "options", [pytest.param((), id="one run"), pytest.param(("--add-nodes", "1", "--like", "a"), id="with a change")]
)
@pytest.mark.parametrize(
    ("waiting", "message"),
    [
        pytest.param(
            [pod("p", schedulerName=OTHER), pod("q", schedulerName=OTHER), pod("r", schedulerName="batch")],
            f"3 pods of another scheduler ({OTHER}, batch): give --scheduler-name {OTHER}, or name the scheduler in "
            "`profiles` of the policy",
            id="of other schedulers",
        ),
        pytest.param([pod("p", schedulingGates=GATES)], "1 pod gated: remove the scheduling gates", id="gated"),
    ],
)
def test_exits_with_2_if_pods_wait_but_none_is_evaluated(
    dump: Write, waiting: list[object], message: str, options: tuple[str, ...]
) -> None:
    done = run("--cluster", dump(node("a"), *waiting), *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(f"dump.json: no pods to place: {message}\n")


def test_counts_skipped_pods_in_addition_to_placed_pods(dump: Write) -> None:
    others = [pod("q", schedulerName=OTHER), pod("r", schedulingGates=GATES)]
    done = run("--cluster", dump(node("a"), pod("p"), *others))
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-3:] == [
        "1 of 1 pods placed",
        "left out: 1 pod gated: remove the scheduling gates",
        f"left out: 1 pod of another scheduler ({OTHER}): give --scheduler-name {OTHER}, or name the scheduler in "
        "`profiles` of the policy",
    ]


def test_json_lists_pods_and_the_nodes_that_rejected_pending_pods(dump: Write) -> None:
    done = run("--cluster", dump(node("a"), pod("small"), pod("large", "3")), "-o", "json")
    assert done.exit_code == 1
    rejected = {
        "status": "UnschedulableAndUnresolvable",
        "plugin": "NodeResourcesFit",
        "reasons": ["Insufficient cpu"],
        "reasonCodes": ["InsufficientResource"],
    }
    assert json.loads(done.stdout) == {
        "pods": [
            {
                "namespace": "default",
                "name": "large",
                "priority": 0,
                "node": None,
                "message": "0/1 nodes are available: 1 Insufficient cpu.",
                "nodes": {"a": rejected},
            },
            {"namespace": "default", "name": "small", "priority": 0, "node": "a", "message": None},
        ],
        "summary": {"placed": 1, "pending": 1, "evicted": 0, "skipped": {}, "otherSchedulers": [], "leftOut": {}},
    }


def test_explain_prints_the_total_or_the_reason_of_each_node(dump: Write) -> None:
    done = run("--cluster", dump(node("a", "1"), node("b"), node("c", "4"), pod("p", "2"), pod("q", "9")), "--explain")
    lines = done.stdout.splitlines()
    assert lines[0] == "default/p: c"
    assert [line.split()[:2] for line in lines[1:3]] == [["c", "total"], ["b", "total"]]
    assert " = TaintToleration 300 + " in lines[1]
    assert lines[1].endswith(" + Berth 0")
    assert lines[3].split(maxsplit=2) == ["a", "NodeResourcesFit", "Insufficient cpu"]
    assert lines[5] == "default/q: 0/3 nodes are available: 3 Insufficient cpu."


def preempting(dump: Write) -> str:
    """Return a dump of two full nodes and two pending pods; a disruption budget covers the pod of node `a`."""
    db = pod("db", "2", nodeName="a", priority=1)
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "db"}}},
        "status": {"disruptionsAllowed": 0},
    }
    return dump(
        *(node("a"), {**db, "metadata": {**db["metadata"], "labels": {"app": "db"}}}, budget),  # type: ignore[dict-item]
        *(node("b"), pod("batch", "2", nodeName="b", priority=5)),
        *(pod("first", "2", priority=100), pod("second", "2", priority=90)),
    )


def test_json_lists_the_evicted_pods(dump: Write) -> None:
    done = json.loads(run("--cluster", preempting(dump), "-o", "json").stdout)
    assert done["summary"]["evicted"] == 2
    first, second = (each["preemption"] for each in done["pods"])
    batch = {"namespace": "default", "name": "batch", "uid": "batch", "priority": 5, "violates": []}
    assert first == {
        "node": "b",
        "victims": [batch],
        "numPDBViolations": 0,
        "otherNodes": {
            "a": {
                "reason": "more victims there violate a PodDisruptionBudget",
                "victims": ["default/db"],
                "numPDBViolations": 1,
            }
        },
    }
    assert [victim["violates"] for victim in second["victims"]] == [["default/db"]]
    assert second["otherNodes"] == {"b": {"reason": "rejected even without all pods of lower priority"}}


def test_skips_and_reports_unreadable_objects(dump: Write) -> None:
    odd: dict[str, Any] = pod("odd")
    odd["spec"]["containers"] = "none"
    done = run("--cluster", dump(node("a"), pod("p"), odd))
    assert done.stdout.splitlines()[-1] == "left out: 1 unreadable (Pod.spec.containers is not a list)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "give --cluster FILE", id="no cluster"),
        pytest.param(["--cluster", "absent.yaml"], "absent.yaml: No such file or directory", id="no file"),
        pytest.param(["--cluster", "-", "--pod", "-"], "only one file can come from standard input", id="two pipes"),
        pytest.param(["--cluster", "-", "--weight", "0"], "0 is not in the range", id="weight 0"),
        pytest.param(["--cluster", "-", "-o", "xml"], "'xml' is not one of", id="unknown output format"),
        pytest.param(["--cluster", "-"], "standard input is neither JSON nor YAML as kubectl prints it", id="not dump"),
    ],
)
def test_bad_input_prints_one_line_and_exits_with_2(arguments: list[str], message: str) -> None:
    done = run(*arguments, stdin="items: [")
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert (done.exit_code, done.stdout, len(lines)) == (2, "", 1)
    assert message in lines[0]


def test_dump_without_nodes_prints_the_kubectl_command_to_run(dump: Write) -> None:
    done = run("--cluster", dump(pod("p")))
    assert done.exit_code == 2
    assert "has no nodes; make a dump with: kubectl get nodes,pods -A -o json > FILE" in done.stderr


EXAMPLE = PROJECT / "examples" / "resource-segregation"
COUNTED = PROJECT / "examples" / "counted-resources"
COUNTED_FILES = {"cluster": "cluster.yaml", "pod": "pods.yaml", "config": "configuration.yaml"}


def test_resource_segregation_example_separates_pods() -> None:
    cluster, pods = str(EXAMPLE / "cluster.yaml"), str(EXAMPLE / "pods.yaml")
    before = places("--cluster", cluster, "--pod", pods)
    after = places("--cluster", cluster, "--pod", pods, "--config", str(EXAMPLE / "configuration.yaml"))
    assert sum(node is None for node in before.values()) == 3
    assert {name[:3] for name, node in before.items() if node is not None and node.startswith("gpu")} == {"api", "tra"}
    assert {(name[:3], str(node)[:3]) for name, node in after.items()} == {("api", "cpu"), ("tra", "gpu")}


def test_counted_resources_example_never_overcommits() -> None:
    files = [f"--{what}={COUNTED / name}" for what, name in COUNTED_FILES.items()]
    done = run(*files, "-o", "json")
    assert (done.exit_code, done.stderr) == (1, "")
    found = json.loads(done.stdout)
    placed = Counter(
        (pod["node"], pod["devices"]["example.com/gpu-memory"])
        for pod in found["pods"]
        if pod["node"] and pod["name"].startswith("inference")
    )
    # Each inference pod takes 3,000 MiB: two fit on a device of 8,000, five on one of 16,000. The notebook takes 2,000.
    assert placed == {("node-a", 0): 2, ("node-a", 1): 2, ("node-b", 0): 5}
    [notebook] = [pod for pod in found["pods"] if pod["name"] == "notebook-1"]
    assert (notebook["node"], notebook["devices"]) == ("node-a", {"example.com/gpu-memory": 0})
    licences = Counter(pod["node"] for pod in found["pods"] if pod["name"].startswith("solver"))
    assert licences == {"node-a": 2, "node-b": 2, "node-c": 2, None: 3}
    assert {pod["message"] for pod in found["pods"] if not pod["node"]} == {
        "0/3 nodes are available: 3 Insufficient example.com/gpu-memory.",
        "0/3 nodes are available: 3 Insufficient example.com/licence.",
    }


# `berth simulate` with changes, from the command line.


def two_nodes() -> list[Object]:
    """Return two nodes, each half full with a pod of one Deployment; another Deployment fills the second node."""
    return [
        plain_node("a"),
        plain_node("b"),
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
def test_invalid_change_prints_the_cause_and_exits_with_2(dump: Write, options: tuple[str, ...], message: str) -> None:
    done = run("--cluster", dump(*two_nodes()), *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("spare", "effects"),
    [
        pytest.param([], {"train-0": "newly-pending", "train-1": "newly-pending"}, id="all members wait"),
        pytest.param([plain_node("c")], {"train-0": "moved", "train-1": "moved"}, id="all members move"),
    ],
)
def test_drained_gang_is_placed_again_as_a_whole(
    dump: Write, tmp_path: Path, spare: list[Object], effects: Mapping[str, str]
) -> None:
    """Both members are on the drained node: if one of them stayed, the gang would count as bound."""
    (tmp_path / "berth.yaml").write_text("profile: full\ngangs: {enabled: true}\n")
    cluster = dump(
        plain_node("a"),
        plain_node("b"),
        *spare,
        *gang(2, "a", "a", cpu="2", owner="Job/train"),
        deployed("web-1", "b", cpu="2"),
    )
    options = ("--config", str(tmp_path / "berth.yaml"), "--drain", "a", "-o", "json")
    found = json.loads(run("--cluster", cluster, *options).stdout)
    assert {each["name"]: each["effect"] for each in found["pods"]} == effects
