"""`make local-stack` as a newcomer uses it: start, call, check, stop. It needs no control plane."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import urllib3

from tests.builders.event_fixtures import EVENTS
from tests.deployment import sam

from .child_process import ChildProcess
from .doctor import berth_doctor
from .loopback import free_port

START_SECONDS = 600
FIRST_CALL_SECONDS = 60
"""It starts a process on this machine."""


def command(directory: Path) -> list[str]:
    return [sys.executable, "-m", "tools.local_stack", f"--directory={directory}"]


def variables(directory: Path) -> dict[str, str]:
    """Of the file that a shell reads."""
    words = (shlex.split(line) for line in (directory / "environment").read_text().splitlines())
    return dict(word.split("=", 1) for _, word in words)


@pytest.mark.stack
def test_local_stack_answers_and_is_sound_until_it_is_stopped(tmp_path: Path) -> None:
    directory, log = tmp_path / "local-stack", tmp_path / "log"
    process = ChildProcess([*command(directory), f"--port={free_port()}"], log)
    try:
        process.wait_until(lambda: "Ctrl-C stops it" in log.read_text(), seconds=START_SECONDS)
        found = variables(directory)
        answer = urllib3.request(
            "POST",
            f"{found['BERTH_URL']}/filter",
            body=(EVENTS / "filter" / "cache-mode.body.json").read_bytes(),
            headers={"Content-Type": "application/json", **urllib3.make_headers(basic_auth=found["BERTH_USER"])},
            timeout=FIRST_CALL_SECONDS,
        )
        expected = orjson.loads((EVENTS / "filter" / "cache-mode.expected.json").read_bytes())["body"]
        assert orjson.loads(answer.data) == expected

        diagnosis = berth_doctor(
            f"--stack={sam.STACK_NAME}",
            f"--url={found['BERTH_URL']}",
            f"--scheduler-config={directory / 'scheduler.yaml'}",
            "--timeout=30",
            environment=found,
        )
        assert diagnosis.exit_status == 0, diagnosis.findings

        second = subprocess.run(command(directory), cwd=sam.PROJECT, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "make local-stack-stop" in second.stderr

        stopped = subprocess.run([*command(directory), "--stop"], cwd=sam.PROJECT, capture_output=True, check=True)
        assert stopped.stdout == b"stopped\n"
        assert process.wait() == 0, log.read_text()
    finally:
        process.stop()
