"""The Helm chart on a real API server, which rejects unknown fields, and its scheduler at work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.builders.chart import CHART, NAMESPACE, helm, rendered

from .berth.identities import RBAC
from .berth.scheduler_config import berth_scheduler_config
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import ApiError, JsonObject, KubernetesApi
from .kubernetes.manifests import apply_manifests, delete_manifests, read_back, read_manifests

NAME = "berth-of-the-chart"
IMAGE = "registry.example.com/berth:0.1.0"
# The policies would restrict the binds of other tests, so they are limited to this test's names.
ADMISSION: dict[str, Any] = {
    "enabled": True,
    "namespaces": ["default"],
    "counted": ["example.com/of-the-chart"],
    "requestAnnotations": ["example.com/of-the-chart"],
}


def _scheduler(url: str, *options: str) -> dict[str, Any]:
    second = (f"--second-scheduler={NAME}", "--image=scheduler")
    printed = berth_scheduler_config(f"--url={url}", *second, "-o", "chart", *options)
    values: dict[str, Any] = yaml.safe_load(printed)
    return values


@pytest.fixture
def everything(api: KubernetesApi) -> Iterator[list[JsonObject]]:
    """Apply the sidecar, the watcher and all policies; delete them afterwards, except for Berth's users."""
    documents = rendered(
        {
            "sidecar": {"enabled": True, "image": IMAGE, "name": NAME},
            "watcher": {"enabled": True, "image": IMAGE, "stack": "berth-production"},
            "rbac": {"countedResources": True},
            "admission": ADMISSION,
        }
    )
    apply_manifests(api, documents)
    yield documents
    users = read_manifests(RBAC)
    delete_manifests(api, [each for each in documents if each not in users])


def test_api_server_accepts_every_object_of_the_chart(api: KubernetesApi, everything: list[JsonObject]) -> None:
    kept = read_back(api, everything)
    assert [each["metadata"]["name"] for each in kept] == [each["metadata"]["name"] for each in everything]
    warnings = {
        each["metadata"]["name"]: each["status"]["typeChecking"]["expressionWarnings"]
        for each in kept
        if each["kind"] == "ValidatingAdmissionPolicy" and each.get("status", {}).get("typeChecking")
        if each["status"]["typeChecking"].get("expressionWarnings")
    }
    assert warnings == {}


def test_helm_installs_upgrades_and_uninstalls_the_chart(control_plane: ControlPlane, api: KubernetesApi) -> None:
    """Uses the helm program as a user does. Controllers do not run here, so pods do not start."""
    place = (f"--kubeconfig={control_plane.kubeconfig()}", f"--namespace={NAMESPACE}")
    url = "https://berth.example.com/scheduler"
    values = {**_scheduler(url), "rbac": {"enabled": False}}
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
    helm("install", NAME, CHART, *place, values=values)
    try:
        before = api.get(path)["spec"]["template"]["metadata"]["annotations"]
        helm("upgrade", NAME, CHART, *place, "--reuse-values", values=_scheduler(url, "--weight=2"))
        after = api.get(path)["spec"]["template"]["metadata"]["annotations"]
        assert before != after
    finally:
        helm("uninstall", NAME, *place)
    with pytest.raises(ApiError):
        api.get(path)
