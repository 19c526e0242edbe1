"""`make acceptance` on the emulator: deploys, places pods with kube-scheduler, and leaves nothing behind.

With mutual TLS, a gateway in front of the emulator requests the client's certificate. The emulator does not support
EKS or metrics from log lines: tests/gameday checks the alarms.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment import sam
from tests.deployment.emulator import REGION, Emulator
from tests.deployment.mutual_tls_gateway import MutualTLSGateway

from .berth.identities import identities
from .berth.label_priority import priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import BINARY, ControlPlane

STACK = "berth-acceptance"


RIGHTS, NAME, ALARM = "Rights in the EKS cluster", "Domain name and allow-list", "Alarm of a stopped scheduler"


@pytest.mark.stack
@pytest.mark.parametrize(("authentication", "skipped"), [("basic", [RIGHTS, NAME, ALARM]), ("mtls", [RIGHTS, ALARM])])
def test_acceptance_passes_every_step_and_deletes_the_stack(
    authentication: str, skipped: list[str], control_plane: ControlPlane, cluster: Cluster, tmp_path: Path
) -> None:
    for value in range(3):
        cluster.create_node(f"acceptance-{value}", labels=priority(value))
    users = identities(control_plane)
    machine = sam.Machine.this()
    built = sam.build(tmp_path / "build", machine)
    report = tmp_path / "report.md"
    with Emulator(tmp_path / "account") as emulator, MutualTLSGateway(emulator, tmp_path) as gateway:
        parameters = {
            **(gateway.parameters() if authentication == "mtls" else {}),
            **emulator.create_kubeconfigs(watcher=users.watcher.kubeconfig(), binder=users.binder.kubeconfig()),
            **machine.parameters,
            # Members of a gang must arrive in bind within half of it, and the emulator starts a process for each one.
            "HttpTimeoutSeconds": "20",
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
                *(("--client", *gateway.directory.files(gateway.client)) if authentication == "mtls" else ()),
                *(argument for name, value in parameters.items() for argument in ("--parameter", f"{name}={value}")),
            ],
            cwd=sam.PROJECT,
            env=emulator.environment() | {"SSL_CERT_FILE": str(gateway.certificate)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        text = report.read_text()
        assert f"**No step failed. Skipped: {', '.join(skipped)}.**" in text
        assert "3 pods, one after another" in text
        assert "A gang of 4 members" in text
        assert gateway.url.removeprefix("https://") not in text
        stacks = emulator.client("cloudformation").list_stacks()["StackSummaries"]
        assert {each["StackStatus"] for each in stacks if each["StackName"] == STACK} <= {"DELETE_COMPLETE"}
        assert emulator.client("dynamodb").list_tables()["TableNames"] == []
    assert REGION in text
