"""`berth explain --url` on a `berth serve`, alone and together with the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth_cli.main import main
from tests.builders.http_calls import Caller
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import PRIORITY
from tests.builders.pods import pod_object
from tests.builders.requests import body_of, cache_mode
from tests.conftest import CLUSTER
from tests.fakes.api_server import verified_kubernetes

MISSING = f"node(s) didn't have the priority label {PRIORITY}"
UNKNOWN = "node(s) are not in the extender's cache yet"


@pytest.fixture
def url(gateway_port: int) -> str:
    """Of a server that has rejected the pod ml/stuck twice, and passed ml/fits once."""
    caller = Caller(gateway_port)
    for pod, names in (("stuck", ["plain", "new-1"]), ("stuck", ["plain", "worded"]), ("fits", ["n10", "plain"])):
        caller.post("/scheduler/filter", body_of(cache_mode(names, pod_object(pod))))
    caller.close()
    return f"http://127.0.0.1:{gateway_port}/scheduler"


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], prog_name="berth")


def test_rejected_pod_is_pending_for_the_reasons_of_its_last_attempt(url: str) -> None:
    done = explain("ml/stuck", "--url", url)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert done.exit_code == 1
    assert lines[0].startswith("ml/stuck: pending for ")
    assert lines[0].endswith(": Berth rejects all 2 nodes that the scheduler asked about")
    assert f"1 Berth NodePriorityLabel {MISSING} plain" in lines
    assert f"- disappeared, was on 1 nodes: {UNKNOWN}" in lines


def test_json_has_attempts_and_changes(url: str) -> None:
    found = json.loads(explain("ml/stuck", "--url", url, "-o", "json").stdout)
    assert (found["version"], found["verdict"], found["nodes"]) == (1, "pending", 2)
    assert {each["code"] for each in found["reasons"]} == {"PriorityLabelMissing", "PriorityLabelNotInteger"}
    assert {each["nodes"][0] for each in found["attempts"][-2]["reasons"]} == {"plain", "new-1"}
    assert [(each["trend"], each["code"]) for each in found["changes"]] == [
        ("appeared", "PriorityLabelNotInteger"),
        ("disappeared", "NodeNotInCache"),
    ]


def test_passed_pod_is_placeable(url: str) -> None:
    done = explain("ml/fits", "--url", url)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].endswith("ago Berth passed 1 of 2 nodes that the scheduler asked about")


def test_with_a_cluster_the_policy_is_that_of_the_server(url: str, tmp_path: Path) -> None:
    dump = json.dumps({"kind": "List", "items": [*_nodes(), {"kind": "Pod", **pod_object("stuck")}]})
    path = tmp_path / "dump.json"
    path.write_text(dump)
    done = explain("ml/stuck", "--url", url, "--cluster", str(path), "-o", "json")
    found = json.loads(done.stdout)
    assert [(each["by"], each["code"]) for each in found["reasons"]] == [("Berth", "PriorityLabelMissing")]
    assert found["attempts"][-1]["outcome"] == "none-feasible"
    assert found["counterfactuals"][0]["changes"][0]["kind"] == "LabelNode"


@pytest.mark.parametrize(
    ("pod", "node", "status", "text", "fits"),
    [
        pytest.param("stuck", "plain", 1, f"rejected by Berth: {MISSING} (NodePriorityLabel)", False, id="rejected"),
        pytest.param("fits", "n10", 0, "Berth passed it", True, id="passed"),
        pytest.param("fits", "n11", 1, "the scheduler asked about other nodes", None, id="not asked"),
    ],
)
def test_node_alone_has_the_verdict_of_the_last_attempt(
    url: str, pod: str, node: str, status: int, text: str, fits: bool | None
) -> None:
    done = explain(f"ml/{pod}", "--url", url, "--node", node)
    assert (done.exit_code, text in done.stdout.splitlines()[0]) == (status, True), done.output
    assert json.loads(explain(f"ml/{pod}", "--url", url, "--node", node, "-o", "json").stdout)["fits"] is fits


def test_names_a_pod_that_is_gone_from_the_cluster(url: str, tmp_path: Path) -> None:
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = _nodes()
        file = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        done = explain("ml/stuck", "--url", url, "--kubeconfig", str(file))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "the cluster has no pod ml/stuck: it is gone: its last attempt was" in done.stderr


def test_names_a_pod_that_was_never_seen(url: str) -> None:
    done = explain("ml/never", "--url", url)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "has no record of pod ml/never: it is not among its" in done.stderr


def test_pod_of_the_cluster_that_was_never_seen_is_explained_without_attempts(url: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"kind": "List", "items": [*_nodes(), {"kind": "Pod", **pod_object("never")}]}))
    done = explain("ml/never", "--url", url, "--cluster", str(path))
    assert done.exit_code == 1
    assert "No attempts on record: " in done.stdout


def test_with_a_cluster_a_server_that_does_not_answer_is_why_the_pod_waits(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    items = [*_nodes({PRIORITY: "1"}), {"kind": "Pod", **pod_object("p")}]
    path.write_text(json.dumps({"kind": "List", "items": items}))
    done = explain("ml/p", "--url", "http://127.0.0.1:1/scheduler", "--cluster", str(path))
    nobody = "http://127.0.0.1:1/scheduler: connection refused or blocked; is berth serve running there?"
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.splitlines()[0] == f"ml/p: pending: Berth does not answer: {nobody}; 1 of 1 nodes fit"
    assert f"No attempts on record: {nobody}\n" in done.stdout
    assert "Judged by kube-scheduler's own rules alone: the server's configuration is not known" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--url", "http://127.0.0.1:1/scheduler"],
            "Error: http://127.0.0.1:1/scheduler: connection refused or blocked; is berth serve running there?\n",
            id="nobody there",
        ),
        pytest.param(["--url", "ftp://there"], "Error: ftp://there is not an http or https address\n", id="no address"),
    ],
)
def test_server_that_cannot_be_asked_is_one_line(arguments: list[str], message: str) -> None:
    done = explain("ml/p", *arguments)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--gang"], "need a cluster", id="a gang"),
        pytest.param(["--profile", "full"], "need a cluster", id="a policy"),
        pytest.param(["--tls-client-key", str(CLUSTER)], "go together", id="half a certificate"),
    ],
)
def test_refuses_options_that_records_do_not_answer(arguments: list[str], message: str) -> None:
    done = explain("ml/p", "--url", "http://127.0.0.1:1/scheduler", *arguments)
    assert (done.exit_code, message in done.stderr) == (2, True)


def _nodes(labels: Mapping[str, str] | None = None) -> list[object]:
    status = {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}}
    ready = {**status, "conditions": [{"type": "Ready", "status": "True"}]}
    return [{"kind": "Node", "metadata": {"name": "plain", "labels": dict(labels or {})}, "status": ready}]
