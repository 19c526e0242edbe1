"""Processes that tests start end with the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]

# A shell has its background jobs ignore Ctrl-C, and their children too.
STARTER = """
import signal
import sys
from pathlib import Path
from tests.e2e.kubernetes.child_process import ChildProcess

signal.signal(signal.SIGINT, signal.default_int_handler)
process = ChildProcess(["sleep", "600"], Path(sys.argv[1]))
print(process.pid, flush=True)
"""
WAITS = "process.wait()"
CLEANS_UP = """
try:
    process.wait()
except KeyboardInterrupt:
    print("cleaning up", flush=True)
    process.wait()
"""


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("then", "interrupts"),
    [pytest.param(WAITS, 1, id="before it cleans up"), pytest.param(CLEANS_UP, 2, id="while it cleans up")],
)
def test_process_ends_with_a_starter_that_is_interrupted(tmp_path: Path, then: str, interrupts: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER + then, tmp_path / "log"],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        for _ in range(interrupts):
            starter.send_signal(signal.SIGINT)
            starter.stdout.readline()
    assert not _is_running(pid)
