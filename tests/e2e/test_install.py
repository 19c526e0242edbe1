"""The steps of docs/install/ that need no AWS account."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .berth.berth_serve import COMMAND
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.manifests import apply_manifests, read_manifests

EXAMPLES = Path(__file__).parents[2] / "examples"
KUBECTL = Path(__file__).parents[2] / ".tools" / "kubectl" / "kubectl"


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> dict[str, str]:
    """The environment of kubectl as cluster administrator."""
    path = os.pathsep.join([str(KUBECTL.parent), os.environ["PATH"]])
    if shutil.which("kubectl", path=path) is None:
        pytest.fail("kubectl is not built: run make e2e")
    apply_manifests(KubernetesApi(control_plane.credentials()), read_manifests(EXAMPLES / "rbac.yaml"))
    # kubectl caches the API discovery in the home directory.
    return {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": str(control_plane.kubeconfig())}


def test_kubectl_accepts_sidecar_manifests(environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["kubectl", "apply", "--dry-run=server", "--validate=strict", "-f", EXAMPLES / "sidecar" / "sidecar.yaml"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "deployment.apps/berth-sidecar" in done.stdout


def test_kubectl_berth_explains_a_pod(environment: dict[str, str], cluster: Cluster) -> None:
    """kubectl finds the entry point kubectl-berth, which the wheel installs, on the path."""
    path = os.pathsep.join([environment["PATH"], str(COMMAND.parent)])
    cluster.create_node("plain")
    cluster.create_pod("pending")
    options = ["--kubeconfig", environment["KUBECONFIG"], "--profile", "label-priority", "-o", "json"]
    done = subprocess.run(
        ["kubectl", "berth", "explain", "pending", *options],
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], [each["code"] for each in found["reasons"]]) == ("pending", ["PriorityLabelMissing"])
