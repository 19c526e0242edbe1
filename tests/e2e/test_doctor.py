"""`berth doctor` on a real API server and `berth serve`, with the documented rights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from .berth.doctor import berth_doctor, doctor_in_process
from .berth.identities import counted_resources, identities, serve
from .berth.scheduler_config import berth_scheduler_config
from .gangs.members import wait_until
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.manifests import apply_manifests

NAMESPACE, NAME = "kube-system", "berth-examined"
SERVICE_ACCOUNTS = f"system:serviceaccount:{NAMESPACE}:"
REVIEW_SECONDS = 20


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a separate cluster, because doctor examines all of it."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def options(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[str]]:
    """Yield the options of doctor that describe `berth serve` with the documented rights."""
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
        # RBAC changes take effect after a moment.
        wait_until("doctor finds nothing", lambda: not doctor_in_process(*options).bad, REVIEW_SECONDS)
        yield options


def test_doctor_passes_for_the_documented_setup(options: Sequence[str]) -> None:
    diagnosis = berth_doctor(*options, "--strict")
    assert diagnosis.exit_status == 0, diagnosis.findings
    for check in ("watcher-rights", "bind-rights", "wake-up", "managedResources", "httpTimeout", "cache"):
        assert diagnosis.result(check) == {"ok"}, diagnosis.findings
