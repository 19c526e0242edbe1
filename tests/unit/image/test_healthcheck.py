"""Docker's health check of the image: of a server by its address, of a watcher by its file."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.kubernetes.loopback import HOST, free_port
from tools.image.__main__ import IMAGE

SCRIPT = (IMAGE / "berth-healthcheck").read_text()


def check(url: str, alive: Path) -> int:
    script = SCRIPT.replace("/run/berth/health/alive", str(alive))
    return subprocess.run(
        [sys.executable, "-c", script], env={"BERTH_HEALTH_URL": url}, capture_output=True, check=False
    ).returncode


def test_server_is_healthy_while_it_answers(gateway_port: int, tmp_path: Path) -> None:
    absent = tmp_path / "alive"
    assert check(f"http://{HOST}:{gateway_port}/healthz", absent) == 0
    assert check(f"http://{HOST}:{gateway_port}/unknown", absent) == 1
    assert check(f"http://{HOST}:{free_port()}/healthz", absent) == 1


@pytest.mark.parametrize(("age", "status"), [pytest.param(10, 0, id="made progress"), pytest.param(600, 1, id="hangs")])
def test_watcher_is_healthy_while_it_makes_progress(age: float, status: int, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    alive.touch()
    then = time.time() - age
    subprocess.run(["touch", "--date", f"@{then}", alive], check=True)
    assert check(f"http://{HOST}:{free_port()}/healthz", alive) == status
