"""`berth explain --url`: the attempts that a `berth serve` has on record, beside the cluster."""

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


@pytest.fixture
def url(gateway_port: int) -> str:
    """Of a server that has rejected the pod ml/stuck twice."""
    caller = Caller(gateway_port)
    for names in (["plain", "new-1"], ["plain", "worded"]):
        caller.post("/scheduler/filter", body_of(cache_mode(names, pod_object("stuck"))))
    caller.close()
    return f"http://127.0.0.1:{gateway_port}/scheduler"


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], prog_name="berth")


def test_with_a_cluster_the_policy_is_that_of_the_server(url: str, tmp_path: Path) -> None:
    dump = json.dumps({"kind": "List", "items": [*_nodes(), {"kind": "Pod", **pod_object("stuck")}]})
    path = tmp_path / "dump.json"
    path.write_text(dump)
    done = explain("ml/stuck", "--url", url, "--cluster", str(path), "-o", "json")
    found = json.loads(done.stdout)
    assert [(each["by"], each["code"]) for each in found["reasons"]] == [("Berth", "PriorityLabelMissing")]
    assert found["attempts"][-1]["outcome"] == "none-feasible"
    assert {each["nodes"][0] for each in found["attempts"][-2]["reasons"]} == {"plain", "new-1"}
    assert found["counterfactuals"][0]["changes"][0]["kind"] == "LabelNode"


def test_names_a_pod_that_is_gone_from_the_cluster(url: str, tmp_path: Path) -> None:
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = _nodes()
        file = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        done = explain("ml/stuck", "--url", url, "--kubeconfig", str(file))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "the cluster has no pod ml/stuck: it is gone: its last attempt was" in done.stderr


def test_pod_of_the_cluster_that_was_never_seen_is_explained_without_attempts(url: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"kind": "List", "items": [*_nodes(), {"kind": "Pod", **pod_object("never")}]}))
    done = explain("ml/never", "--url", url, "--cluster", str(path))
    assert done.exit_code == 1
    assert "has no record of pod ml/never: it is not among its" in done.stdout


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
        pytest.param(["--url", "ftp://there"], "ftp://there is not an http or https address", id="no address"),
        pytest.param(["--url", "http://there", "--tls-client-key", str(CLUSTER)], "go together", id="half a key pair"),
    ],
)
def test_server_that_cannot_be_asked_is_one_line(arguments: list[str], message: str) -> None:
    done = explain("ml/p", "--cluster", str(CLUSTER), *arguments)
    assert (done.exit_code, done.stdout, message in done.stderr) == (2, "", True)


def test_records_alone_do_not_explain_a_pod(url: str) -> None:
    done = explain("ml/stuck", "--url", url)
    assert (done.exit_code, "give --cluster DUMP or --kubeconfig FILE" in done.stderr) == (2, True)


def _nodes(labels: Mapping[str, str] | None = None) -> list[object]:
    status = {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}}
    ready = {**status, "conditions": [{"type": "Ready", "status": "True"}]}
    return [{"kind": "Node", "metadata": {"name": "plain", "labels": dict(labels or {})}, "status": ready}]
