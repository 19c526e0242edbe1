"""`berth explain --kubeconfig`: a live cluster is listed once, and explained as its dump is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth_cli.commands.explain import explain
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.fakes.api_server import RESOURCES, Fault, KubernetesOnLoopback, verified_kubernetes
from tests.unit.cli.explanation.cases import Object

LONG_AGO = {"creationTimestamp": "2020-01-01T00:00:00Z"}
OBJECTS: list[Object] = [
    node_with("a"),
    node_with("b", {PRIORITY: "1"}, taints=[{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]),
    pod_with("web", nodeName="a", requests={"cpu": "3"}),
    pod_with("p", requests={"cpu": "2"}),
    pod_with("untried", metadata=LONG_AGO),
    pod_with("tried", metadata=LONG_AGO, status={"conditions": [{"type": "PodScheduled", "status": "False"}]}),
    pod_with("gated", schedulingGates=[{"name": "example.com/gate"}]),
]


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with verified_kubernetes() as kubernetes:
        for obj in OBJECTS:
            # The items of a list have no kind.
            item = {key: value for key, value in obj.items() if key != "kind"}
            if obj["kind"] == "Node":
                kubernetes.nodes.append(item)
            else:
                metadata = item["metadata"]
                assert isinstance(metadata, dict)
                kubernetes.pods[metadata["namespace"], metadata["name"]] = item
        yield kubernetes


def run(kubernetes: KubernetesOnLoopback, folder: Path, *arguments: str) -> Result:
    file = kubeconfig_for(kubernetes.host, folder, kubernetes.authority)
    return CliRunner().invoke(explain, [*arguments, "--kubeconfig", str(file)])


@pytest.mark.parametrize("pod", ["p", "untried", "tried", "gated", "web"])
def test_explanation_on_a_live_cluster_equals_explanation_on_its_dump(
    kubernetes: KubernetesOnLoopback, tmp_path: Path, pod: str
) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": OBJECTS}))
    options = [pod, "--profile", "label-priority", "-o", "json"]
    live = run(kubernetes, tmp_path, *options)
    dumped = CliRunner().invoke(explain, [*options, "--cluster", str(dump)])
    assert (live.exit_code, live.stdout) == (dumped.exit_code, dumped.stdout)
    assert json.loads(live.stdout)["name"] == pod


def test_sends_only_one_list_request_for_each_resource(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    assert run(kubernetes, tmp_path, "p").exit_code == 1
    assert {each.method for each in kubernetes.requests} == {"GET"}
    paths = [each.path for each in kubernetes.requests]
    assert sorted(path for path in paths if path in RESOURCES) == sorted(RESOURCES)
    # The cluster serves none of these: each version is asked for once.
    assert sorted(path for path in paths if path not in RESOURCES) == [
        "/apis/scheduling.k8s.io/v1alpha2/podgroups",
        "/apis/scheduling.k8s.io/v1beta1/podgroups",
        "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups",
        "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
    ]
    assert not any("watch" in each.query for each in kubernetes.requests)


def test_error_names_the_missing_permission(kubernetes: KubernetesOnLoopback, tmp_path: Path) -> None:
    kubernetes.faults.append(Fault("GET", 403, "services is forbidden", where="/services"))
    done = run(kubernetes, tmp_path, "p")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "Error: services is forbidden; give this user the verb list on services\n"


@pytest.mark.parametrize("options", [pytest.param([], id="no source"), pytest.param(["--cluster", "-"], id="two")])
def test_explain_requires_exactly_one_source(tmp_path: Path, options: list[str]) -> None:
    file = kubeconfig_for("https://127.0.0.1:1", tmp_path)
    given = [*options, "--kubeconfig", str(file)] if options else []
    done = CliRunner().invoke(explain, ["p", *given])
    assert (done.exit_code, "give --cluster DUMP or --kubeconfig FILE" in done.stderr) == (2, True)
