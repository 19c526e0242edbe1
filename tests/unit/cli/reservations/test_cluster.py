"""`berth reservations list --kubeconfig`: what pods hold, from the cluster alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from berth_cli.main import main
from tests.builders.kubeconfigs import kubeconfig_for
from tests.fakes.api_server import Fault, KubernetesOnLoopback, verified_kubernetes

SLOT = "example.com/slot"
CONFIGURATION = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - {{name: {SLOT}, capacity: {{nodeLabel: example.com/slots}}}}
"""


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with verified_kubernetes() as kubernetes:
        labels = {"example.com/slots": "4"}
        kubernetes.nodes = [
            {"metadata": {"name": "node-a", "labels": labels}, "status": {"allocatable": {"pods": "110"}}},
            {"metadata": {"name": "plain"}, "status": {"allocatable": {"pods": "110"}}},
        ]
        yield kubernetes


def add_pod(kubernetes: KubernetesOnLoopback, name: str, slots: int, node: str = "node-a", **status: str) -> None:
    container = {"name": "main", "resources": {"requests": {SLOT: str(slots)}}}
    kubernetes.pods["ml", name] = {
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
        "status": status,
    }


def listed(kubernetes: KubernetesOnLoopback, directory: Path, *options: str, document: str = CONFIGURATION) -> Result:
    config = directory / "berth.yaml"
    config.write_text(document)
    file = kubeconfig_for(kubernetes.host, directory, kubernetes.authority)
    arguments = ["reservations", "list", "--kubeconfig", str(file), "--config", str(config), *options]
    return CliRunner().invoke(main, arguments, prog_name="berth")


def test_lists_pods_on_nodes_and_what_is_left(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    add_pod(kubernetes, "runs", 3, startTime="2026-01-01T00:00:00Z")
    add_pod(kubernetes, "pending", 1, node="")
    add_pod(kubernetes, "done", 1, phase="Succeeded")

    done = listed(kubernetes, tmp_path, "-o", "json")

    assert done.exit_code == 0, done.output
    content: dict[str, Any] = orjson.loads(done.stdout)
    [found] = content["reservations"]
    assert (found["pod"], found["node"], found["holds"], found["state"]) == ("ml/runs", "node-a", {SLOT: 3}, "bound")
    assert (found["since"], found["why"]) == ("2026-01-01T00:00:00+00:00", "the pod is on this node")
    assert content["nodes"] == [{"node": "node-a", "capacity": {SLOT: 4}, "available": {SLOT: 1}, "owed": {}}]
    assert "nobody counts" in done.stderr


def test_reports_node_that_owes_and_the_holder(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    for name in ("first", "second"):
        add_pod(kubernetes, name, 3)
    kubernetes.leases["berth-ledger"] = {
        "metadata": {"name": "berth-ledger", "uid": "1", "resourceVersion": "1"},
        "spec": {"holderIdentity": "arn:aws:table/ledger", "leaseDurationSeconds": 60, "leaseTransitions": 1},
    }
    done = listed(kubernetes, tmp_path)
    assert done.exit_code == 0, done.output
    assert f"node-a: reservations exceed the capacity by 2 {SLOT}" in done.stdout
    assert "arn:aws:table/ledger counts" in done.stderr


def test_changes_nothing_in_the_cluster(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    assert listed(kubernetes, tmp_path).exit_code == 0
    assert {each.method for each in kubernetes.requests} == {"GET"}


def test_reports_refused_list(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    kubernetes.faults.append(Fault("GET", 403, "pods is forbidden", where="/pods"))
    done = listed(kubernetes, tmp_path)
    assert (done.exit_code, "pods is forbidden" in done.stderr) == (1, True)


def test_refuses_configuration_that_counts_nothing(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    done = listed(kubernetes, tmp_path, document="profile: full\n")
    assert (done.exit_code, "counts nothing" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--stack", "berth"], "reads no ledger", id="a stack too"),
        pytest.param(["--url", "http://127.0.0.1:8080/scheduler"], "--url is for a berth serve", id="a server too"),
    ],
)
def test_refuses_two_sources(
    options: list[str], message: str, kubernetes: KubernetesOnLoopback, tmp_path: Path
) -> None:
    done = listed(kubernetes, tmp_path, *options)
    assert (done.exit_code, message in done.stderr) == (2, True)


def test_needs_configuration(tmp_path: Path) -> None:
    file = kubeconfig_for("https://127.0.0.1:1", tmp_path)
    done = CliRunner().invoke(main, ["reservations", "list", "--kubeconfig", str(file)])
    assert (done.exit_code, "go together" in done.stderr) == (2, True)
