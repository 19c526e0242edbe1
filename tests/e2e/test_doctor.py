"""`berth doctor` on a real API server and `berth serve`, with one missing right at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import yaml

from berth_cli.installation.doctor.findings import CheckName

from .berth.doctor import Diagnosis, berth_doctor, doctor_in_process
from .berth.identities import RBAC, counted_resources, identities, serve
from .berth.scheduler_config import berth_scheduler_config
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.manifests import apply_manifests, read_manifests

NAMESPACE, NAME = "kube-system", "berth-examined"
SERVICE_ACCOUNTS = f"system:serviceaccount:{NAMESPACE}:"
WAKE = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/berth-wake"
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

    @contextmanager
    def without_wake_object(self) -> Iterator[None]:
        self.api.delete(WAKE)
        try:
            yield
        finally:
            apply_manifests(self.api, [each for each in read_manifests(RBAC) if each["kind"] == "CSIStorageCapacity"])


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate cluster, because the tests change its roles."""
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


def test_doctor_has_no_findings_for_the_documented_setup(installation: Installation) -> None:
    diagnosis = berth_doctor(*installation.options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("watcher-rights", "bind-rights", "wake-up", "managedResources", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings


@pytest.mark.parametrize(
    ("remove", "check", "message"),
    [
        pytest.param(
            partial(Installation.without_right, role="berth-watcher", verb="watch", resource="pods"),
            CheckName.WATCHER_RIGHTS,
            "may not watch pods",
            id="watcher lacks watch pods",
        ),
        pytest.param(
            partial(Installation.without_right, role="berth-binder", verb="create", resource="pods/binding"),
            CheckName.BIND_RIGHTS,
            "may not create pods/binding",
            id="binder lacks create pods/binding",
        ),
        pytest.param(
            Installation.without_wake_object, CheckName.WAKE_UP, "only after minutes", id="wake-up object is missing"
        ),
    ],
)
def test_doctor_reports_each_missing_permission_or_object(
    remove: Callable[[Installation], AbstractContextManager[None]],
    check: CheckName,
    message: str,
    installation: Installation,
) -> None:
    with remove(installation):
        found = _until(lambda: doctor_in_process(*installation.options), lambda each: each.bad.keys() == {check})
    assert found.bad.keys() == {check}, found.findings
    assert message in found.bad[check]
    assert all("examples/rbac.yaml" in each.remedy for each in found.findings if each.check == check and each.remedy)
    assert found.exit_status == 1
    restored = _until(lambda: doctor_in_process(*installation.options), lambda diagnosis: not diagnosis.bad)
    assert not restored.bad
