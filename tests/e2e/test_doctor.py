"""`berth doctor` on a real API server, with one thing broken at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from .berth_serve import BerthServe
from .control_plane import ControlPlane
from .doctor import Diagnosis, berth_doctor
from .identities import RBAC, serve
from .kubernetes_api import KubernetesApi
from .manifests import apply_manifests, read_manifests
from .scheduler_config import berth_scheduler_config

NAMESPACE = "kube-system"
NAME = "berth-examined"
REVIEW_SECONDS = 20


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of its own: its roles are broken."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


@pytest.fixture(scope="module")
def berth(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BerthServe]:
    with serve(control_plane, tmp_path_factory.mktemp("serve")) as berth:
        yield berth


@pytest.fixture
def examine(
    control_plane: ControlPlane, api: KubernetesApi, berth: BerthServe, tmp_path: Path
) -> Callable[[], Diagnosis]:
    """The documented rights, a second scheduler's configuration in the cluster, and the service accounts to ask as."""
    apply_manifests(api, read_manifests(RBAC))
    printed = berth_scheduler_config(f"--url={berth.url_prefix}", f"--second-scheduler={NAME}", "--http-timeout=30s")
    apply_manifests(api, list(yaml.safe_load_all(printed)))
    watcher, binder = (
        control_plane.kubeconfig(control_plane.service_account(NAMESPACE, name))
        for name in ("berth-watcher", "berth-binder")
    )
    configuration = tmp_path / "berth.yaml"
    configuration.write_text("profile: label-priority\n")

    def run() -> Diagnosis:
        return berth_doctor(
            f"--kubeconfig={control_plane.kubeconfig()}",
            f"--scheduler-configmap={NAMESPACE}/{NAME}",
            f"--watcher-kubeconfig={watcher}",
            f"--binder-kubeconfig={binder}",
            f"--config={configuration}",
            "--timeout=30",
        )

    return run


def _until(examine: Callable[[], Diagnosis], check: str) -> str:
    """RBAC takes a moment to be known to the API server."""
    deadline = time.monotonic() + REVIEW_SECONDS
    while check not in (diagnosis := examine()).bad:
        assert time.monotonic() < deadline, diagnosis.findings
    return diagnosis.bad[check]


def test_the_documented_rights_and_the_printed_manifests_are_sound(examine: Callable[[], Diagnosis]) -> None:
    deadline = time.monotonic() + REVIEW_SECONDS
    while (diagnosis := examine()).bad:
        assert time.monotonic() < deadline, diagnosis.findings
    assert diagnosis.exit_status == 0
    assert diagnosis.result("watcher-rights") == diagnosis.result("bind-rights") == {"ok"}
    assert diagnosis.result("wake-up") == diagnosis.result("managedResources") == {"ok"}


@pytest.mark.parametrize(
    ("role", "rule", "check", "told"),
    [
        pytest.param("berth-watcher", "pods", "watcher-rights", "may not watch pods", id="the watcher cannot watch"),
        pytest.param("berth-binder", "pods/binding", "bind-rights", "may not create pods/binding", id="nobody binds"),
    ],
)
def test_a_right_that_is_missing(
    role: str, rule: str, check: str, told: str, examine: Callable[[], Diagnosis], api: KubernetesApi
) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}"
    rules = [each for each in api.get(path)["rules"] if rule not in each["resources"]]
    api.patch(path, {"rules": rules})
    assert told in _until(examine, check)


def test_the_object_that_wakes_the_queue_is_gone(examine: Callable[[], Diagnosis], api: KubernetesApi) -> None:
    api.delete(f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/berth-wake")
    assert "after minutes" in _until(examine, "wake-up")


@pytest.mark.parametrize(
    ("change", "check"),
    [
        pytest.param(("Verb: prioritize", "Verb: priority"), "prioritizeVerb", id="a swallowed verb"),
        pytest.param(("NodesToScore: 100", "NodesToScore: 5"), "percentageOfNodesToScore", id="a sample of the nodes"),
        pytest.param((f"Name: {NAME}\n", "Name: kube-scheduler\n"), "leaderElection", id="the first one's lock"),
        pytest.param(("Capable: true", "Capable: false"), "nodeCacheCapable", id="full mode"),
    ],
)
def test_the_configuration_in_the_cluster(
    change: tuple[str, str], check: str, examine: Callable[[], Diagnosis], api: KubernetesApi
) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
    text = api.get(path)["data"]["config.yaml"]
    assert change[0] in text
    api.patch(path, {"data": {"config.yaml": text.replace(*change)}})
    assert check in examine().bad
