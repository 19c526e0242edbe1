"""At most one local stack runs, and another command ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment.sam import PROJECT
from tools.local_stack.running import LOCK, AlreadyRunning, lock, stop

HOLDS_THE_LOCK = """
import sys, signal
from pathlib import Path
from tools.local_stack.running import lock
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with lock(Path(sys.argv[1])):
    print("locked", flush=True)
    signal.sigwait([signal.SIGTERM])
    sys.exit(7)
"""


def holder(directory: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK, directory], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def test_refuses_a_second_one_by_name(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(AlreadyRunning, match=rf"process {process.pid} .*make local-stack STOP=1"), lock(tmp_path):
            pass
        process.terminate()


def test_stop_ends_the_one_that_runs(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert stop(tmp_path)
        assert process.wait() == 7
    assert not stop(tmp_path)


def test_killed_process_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
    assert (tmp_path / LOCK).read_text() == str(process.pid)
    assert not stop(tmp_path)
    with lock(tmp_path):
        assert (tmp_path / LOCK).read_text() == str(os.getpid())


def test_stop_without_a_lock_file_finds_none(tmp_path: Path) -> None:
    assert not stop(tmp_path)
