"""`berth doctor` on a real API server and `berth serve`, with and without one right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from berth_cli.installation.doctor.findings import CheckName

from .berth.doctor import Diagnosis, berth_doctor, doctor_in_process
from .berth.identities import counted_resources, identities, serve
from .berth.scheduler_config import berth_scheduler_config
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.manifests import apply_manifests

NAMESPACE, NAME = "kube-system", "berth-examined"
SERVICE_ACCOUNTS = f"system:serviceaccount:{NAMESPACE}:"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
REVIEW_SECONDS = 20
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Installation:
    """`berth serve` with the documented rights, and the options of doctor that describe it."""

    api: KubernetesApi
    options: Sequence[str]

    @contextmanager
    def without_right(self, role: str, verb: str, resource: str) -> Iterator[None]:
        path = f"{ROLES}/{role}"
        rules = self.api.get(path)["rules"]
        reduced = [
            {**rule, "verbs": [each for each in rule["verbs"] if each != verb]}
            if resource in rule["resources"]
            else rule
            for rule in rules
        ]
        self.api.patch(path, {"rules": [rule for rule in reduced if rule["verbs"]]})
        try:
            yield
        finally:
            self.api.patch(path, {"rules": rules})


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate cluster, because a test changes its roles."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def installation(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    directory: Path = tmp_path_factory.mktemp("serve")
    api = KubernetesApi(control_plane.credentials())
    with counted_resources(control_plane), serve(control_plane, directory) as berth:
        printed = berth_scheduler_config(
            f"--url={berth.url_prefix}", f"--second-scheduler={NAME}", "--image=scheduler", "--http-timeout=29s"
        )
        apply_manifests(api, list(yaml.safe_load_all(printed)))
        identities(control_plane)
        options = (
            f"--kubeconfig={control_plane.kubeconfig()}",
            f"--scheduler-configmap={NAMESPACE}/{NAME}",
            f"--watcher-user={SERVICE_ACCOUNTS}berth-watcher",
            f"--binder-user={SERVICE_ACCOUNTS}berth-binder",
            f"--config={directory / 'berth.yaml'}",
            "--timeout=15",
        )
        _until(lambda: doctor_in_process(*options), lambda found: not found.bad)
        yield Installation(api, options)


def _until(examine: Callable[[], Diagnosis], wanted: Callable[[Diagnosis], bool]) -> Diagnosis:
    """Examine again until the result is the wanted one: RBAC changes take effect after a moment."""
    deadline = time.monotonic() + REVIEW_SECONDS
    while not wanted(diagnosis := examine()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return diagnosis


def test_doctor_passes_for_the_documented_setup(installation: Installation) -> None:
    diagnosis = berth_doctor(*installation.options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("watcher-rights", "bind-rights", "wake-up", "managedResources", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings


def test_doctor_reports_a_missing_permission(installation: Installation) -> None:
    with installation.without_right("berth-watcher", "watch", "pods"):
        found = _until(lambda: doctor_in_process(*installation.options), lambda each: bool(each.bad))
    assert found.bad.keys() == {CheckName.WATCHER_RIGHTS}, found.findings
    assert "may not watch pods" in found.bad[CheckName.WATCHER_RIGHTS]
    assert found.exit_status == 1
    restored = _until(lambda: doctor_in_process(*installation.options), lambda diagnosis: not diagnosis.bad)
    assert not restored.bad
