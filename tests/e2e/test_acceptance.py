"""`make acceptance` on the emulator: deploys, places pods with kube-scheduler, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment import sam
from tests.deployment.emulator import REGION, Emulator

from .berth.identities import identities
from .berth.label_priority import priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import BINARY, ControlPlane

STACK = "berth-acceptance"


@pytest.mark.stack
def test_acceptance_passes_every_step_and_deletes_the_stack(
    control_plane: ControlPlane, cluster: Cluster, tmp_path: Path
) -> None:
    for value in range(3):
        cluster.create_node(f"acceptance-{value}", labels=priority(value))
    users = identities(control_plane)
    machine = sam.Machine.this()
    built = sam.build(tmp_path / "build", machine)
    report = tmp_path / "report.md"
    with Emulator(tmp_path / "account") as emulator:
        parameters = {
            **emulator.create_kubeconfigs(watcher=users.watcher.kubeconfig(), binder=users.binder.kubeconfig()),
            **machine.parameters,
        }
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tools.acceptance", "--stack", STACK, "--template", built),
                *(
                    "--kubeconfig",
                    control_plane.kubeconfig(),
                    "--scheduler",
                    f"{sys.executable} -m tests.e2e.kubernetes.emulator_scheduler {BINARY} kube-scheduler",
                ),
                *("--pods", "3", "--report", report),
                *(argument for name, value in parameters.items() for argument in ("--parameter", f"{name}={value}")),
            ],
            cwd=sam.PROJECT,
            env=emulator.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        text = report.read_text()
        # The emulator has no EKS.
        assert "**No step failed. Skipped: Rights in the EKS cluster.**" in text
        assert "3 pods, one after another" in text
        stacks = emulator.client("cloudformation").list_stacks()["StackSummaries"]
        assert {each["StackStatus"] for each in stacks if each["StackName"] == STACK} <= {"DELETE_COMPLETE"}
        assert emulator.client("dynamodb").list_tables()["TableNames"] == []
    assert REGION in text
