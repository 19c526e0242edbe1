"""Runs the step of action.yml that installs the command, as the runner runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from berth import __version__
from tests.deployment.sam import PROJECT

SECONDS = 600
LOCKS = ("requirements/cli.txt", "requirements/build.txt")
OWN = frozenset({"berth", "pip", "setuptools"})
"""The package itself, and the packages of a new environment."""


def check_installation(directory: Path) -> None:
    """The command runs, and each package beside it is a locked one."""
    step = install_step()
    environment = {**os.environ, "ACTION": str(PROJECT), "PYTHON": sys.executable, "RUNNER_TEMP": str(directory)}
    assert step["env"].keys() <= environment.keys()
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    subprocess.run(script, cwd=directory, env=environment, check=True, timeout=SECONDS)
    installed = directory / "berth" / "bin"
    assert _output(installed / "berth", "--version") == f"berth, version {__version__}\n"
    assert "Usage" in _output(installed / "berth", "policy", "diff", "--help")
    locked = {pin for file in LOCKS for pin in _pins((PROJECT / file).read_text())}
    unlocked = {
        pin for pin in _pins(_output(installed / "pip", "list", "--format=freeze")) if pin[0] not in OWN
    } - locked
    assert not unlocked, unlocked


def install_step() -> dict[str, Any]:
    """Return the step from action.yml."""
    steps = yaml.safe_load((PROJECT / "action.yml").read_text())["runs"]["steps"]
    [step] = [each for each in steps if each.get("name") == "Install Berth"]
    found: dict[str, Any] = step
    return found


def _pins(text: str) -> set[tuple[str, str]]:
    """Return the pinned names, as package indexes spell them, with their versions."""
    found = re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    return {(name.lower().replace("_", "-"), version) for name, version in found}


def _output(command: Path, *arguments: str) -> str:
    return subprocess.run([command, *arguments], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
