"""Which kube-scheduler places the pods."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tools.acceptance import placement
from tools.acceptance.placement import scheduler_command


def built_by_make() -> Path:
    """What the Makefile builds for `make e2e`."""
    show = ("--eval", "show: ; @echo $(CONTROLPLANE)", "show")
    # Another make may run these tests, and has this one name its directory.
    command = ["make", "--silent", "--no-print-directory", *show]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return PROJECT / done.stdout.strip()


def test_looks_for_what_make_builds() -> None:
    assert built_by_make() == placement.BUILT_SCHEDULER


def test_the_command_that_is_given_comes_before_the_one_that_was_built_and_that_before_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = tmp_path / "controlplane"
    monkeypatch.setattr(placement, "BUILT_SCHEDULER", built)
    assert scheduler_command(None) == ["kube-scheduler"]
    built.touch()
    assert scheduler_command(None) == [str(built), "kube-scheduler"]
    assert scheduler_command("ssh node kube-scheduler") == ["ssh", "node", "kube-scheduler"]
