"""Runs the commands of a page in a shell, as a reader does, on the stack in the emulator."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.builders.documents import commands
from tests.conftest import PROJECT
from tests.deployment import sam
from tests.deployment.mutual_tls_gateway import DAY
from tests.gameday.scene import Scene

KUBECTL = PROJECT / ".tools" / "kubectl" / "kubectl"
SECONDS = 300


def run_page(page: Path, scene: Scene) -> list[str]:
    """Run each command of the page once. Returns the failed commands with their output."""
    home = scene.directory / "home"
    stolen = scene.gateway.directory.issue("stolen", datetime.now(UTC), 90 * DAY)
    _prepare(home, scene)
    environment = scene.stack.environment() | {"HOME": str(home)}
    environment["PATH"] = f"{home / 'bin'}:{Path(sys.executable).parent}:{environment['PATH']}"
    lines = list(dict.fromkeys(each.partition("  #")[0].strip() for each in commands(page)))
    prelude = [line for line in lines if line.startswith("export ") or "() {" in line]
    problems = []
    for line in lines[len(prelude) :]:
        given = line.replace("SERIAL_NUMBER", stolen.serial).replace("TABLE", scene.stack.name("LedgerTable"))
        script = "\n".join([*prelude, f"STACK={sam.STACK_NAME}", given])
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            problems.append(f"{line}: {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")
    scene.stack.allow()  # restores the allow-list with the scheduler's certificate, which the commands have rotated
    return problems


def _prepare(home: Path, scene: Scene) -> None:
    """Prepare a home directory with the kubeconfig, the authority's directory, and the programs of the commands."""
    (home / ".kube").mkdir(parents=True)
    (home / "bin").mkdir()
    shutil.copy(scene.control_plane.kubeconfig(), home / ".kube" / "config")
    shutil.copytree(scene.gateway.directory.path, home / "berth-certificates")
    (home / "bin" / "kubectl").symlink_to(KUBECTL if KUBECTL.exists() else Path(shutil.which("kubectl") or KUBECTL))
    aws = home / "bin" / "aws"
    words = [sys.executable, "-m", "tests.gameday.aws_command"]
    aws.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(PROJECT))} exec {shlex.join(words)} "$@"\n')
    aws.chmod(0o755)
    data = {"configuration.yaml": scene.scheduler_file.read_text()}
    path = "/api/v1/namespaces/kube-system/configmaps"
    scene.api.create(path, {"metadata": {"name": "berth-scheduler"}, "data": data})
