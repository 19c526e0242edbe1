"""Expanding manifests to pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from berth.scheduling.objects import PriorityClass
from berth_cli.sources.dump.admission import PriorityClasses
from berth_cli.sources.dump.manifests import Manifests, read_manifests
from berth_cli.terminal.input_files import InvalidInput

CLASSES = PriorityClasses([PriorityClass("high", 1000)])
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}


@pytest.fixture
def manifests(tmp_path: Path) -> Any:
    def read(*documents: object) -> Manifests:
        path = tmp_path / "pods.yaml"
        path.write_bytes(b"\n---\n".join(map(orjson.dumps, documents)))
        return read_manifests([path])

    return read


def workload(kind: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": {**spec, "template": TEMPLATE}}


@pytest.mark.parametrize(
    ("document", "names"),
    [
        pytest.param({"kind": "Pod", "metadata": {"name": "one"}}, ["one"], id="a Pod is one pod"),
        pytest.param({"kind": "Pod", "metadata": {"generateName": "web-"}}, ["web-1"], id="generated name is made up"),
        pytest.param({"kind": "Pod"}, ["pod-1"], id="a name is generated for an empty Pod"),
        pytest.param(workload("Deployment", replicas=2), ["web-1", "web-2"], id="a Deployment has replicas"),
        pytest.param(workload("Deployment"), ["web-1"], id="one replica by default"),
        pytest.param(workload("ReplicaSet", replicas=1), ["web-1"], id="a ReplicaSet has replicas"),
        pytest.param(workload("StatefulSet", replicas=2), ["web-0", "web-1"], id="StatefulSet replicas begin at 0"),
        pytest.param(workload("ReplicationController", replicas=1), ["web-1"], id="a ReplicationController"),
        pytest.param(workload("Job", parallelism=3), ["web-1", "web-2", "web-3"], id="a Job has its parallelism"),
        pytest.param(workload("Job", parallelism=3, completions=2), ["web-1", "web-2"], id="at most its completions"),
        pytest.param(workload("Job"), ["web-1"], id="one pod by default"),
        pytest.param(
            {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": name}} for name in ("a", "b")]},
            ["a", "b"],
            id="a List",
        ),
    ],
)
def test_expands_workloads_to_pods(manifests: Any, document: object, names: list[str]) -> None:
    assert [pod.name for pod in manifests(document).read(CLASSES)] == names


def test_generated_pods_have_labels_and_controller(manifests: Any) -> None:
    [pod] = manifests(workload("Deployment")).read(CLASSES)
    assert (pod.namespace, pod.labels) == ("default", {"app": "web"})
    assert (pod.spec.controller.kind, pod.spec.controller.name) == ("ReplicaSet", "web")


def test_adds_controller_and_service_to_the_cluster(manifests: Any) -> None:
    service = {"kind": "Service", "metadata": {"name": "web"}}
    found = manifests(workload("Deployment", selector={"matchLabels": {"app": "web"}}), service)
    assert [(each["kind"], each["metadata"]["name"]) for each in found.others] == [
        ("ReplicaSet", "web"),
        ("Service", "web"),
    ]


def test_applies_api_server_defaults(manifests: Any) -> None:
    spec = {"priorityClassName": "high", "containers": [{"resources": {"limits": {"cpu": "2"}}}]}
    [pod] = manifests({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec}).read(CLASSES)
    assert pod.priority == 1000
    assert pod.spec.requests.asked == {"cpu": 2000}


def test_skips_other_kinds_of_objects_with_a_warning(manifests: Any) -> None:
    found = manifests({"kind": "ConfigMap"}, workload("StatefulSet"), {"kind": "ConfigMap"}, {"kind": "Ingress"})
    assert len(found.pods) == 1
    assert found.warnings == (
        "left out of the manifests, because scheduling does not use them: 2 ConfigMap, 1 Ingress",
    )


def test_duplicate_pod_is_placed_once(manifests: Any) -> None:
    pods = ({"kind": "Pod", "metadata": {"name": "p", "labels": {"v": version}}} for version in ("1", "2"))
    [pod] = manifests(*pods, workload("Job"), workload("Job")).pods[:1]
    assert pod["metadata"]["labels"] == {"v": "2"}
    assert len(manifests(workload("Job"), workload("Job")).pods) == 1


def test_removes_node_and_status_from_a_stored_pod(manifests: Any) -> None:
    found = manifests(
        {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ml", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n", "priority": 5},
            "status": {"phase": "Succeeded", "nominatedNodeName": "n"},
        }
    )
    [pod] = found.read(CLASSES)
    assert (pod.node_name, pod.nominated_node, pod.phase, pod.terminating) == ("", "", "", False)
    assert pod.priority == 5
    assert found.names == {("ml", "p")}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"kind": "Pod", "specs": {}, "metadata": {"lables": {}}}, id="a Pod"),
        pytest.param({"kind": "Job", "spec": {"template": {"specs": {}, "metadata": {"lables": {}}}}}, id="a template"),
    ],
)
def test_keeps_unknown_fields_for_later_warnings(manifests: Any, document: object) -> None:
    [pod] = manifests(document).pods
    assert (pod["specs"], pod["metadata"]["lables"]) == ({}, {})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param({"kind": "DaemonSet"}, "has no pods, only 1 DaemonSet; give Pods or Deployment, ", id="no pods"),
        pytest.param({"a": 1}, "has no pods, only 1 document without a kind; give Pods", id="no kind"),
        pytest.param({"kind": "Service"}, "pods.yaml has no pods; give Pods or Deployment, ", id="related objects"),
        pytest.param({"kind": "Pod", "spec": []}, "pods.yaml: Pod.spec is not an object", id="a wrong type"),
        pytest.param(workload("Deployment", replicas="3"), "Deployment.spec.replicas is not an integer", id="a number"),
    ],
)
def test_rejects_manifest_without_pods(manifests: Any, document: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        manifests(document)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"priorityClassName": "x"}, "pod p: no PriorityClass with name x was found", id="a class"),
        pytest.param(
            {"containers": [{"resources": {"requests": {"cpu": "much"}}}]},
            "pod p: .* cannot be parsed",
            id="a quantity",
        ),
    ],
)
def test_reports_pod_rejected_by_admission(manifests: Any, spec: object, message: str) -> None:
    found = manifests({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    with pytest.raises(InvalidInput, match=message):
        found.read(CLASSES)
