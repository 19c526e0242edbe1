"""Builds the wheel and installs it into a new environment with the locked requirements."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deployment.sam import PROJECT

UV = Path(sys.executable).with_name("uv")
REQUIREMENTS = PROJECT / "requirements" / "cli.txt"
SECONDS = 120


@dataclass(frozen=True)
class Installation:
    """`environment`: a virtual environment. `folder`: the working directory of its commands, empty at first."""

    environment: Path
    folder: Path

    @property
    def command(self) -> Path:
        return self.environment / "bin" / "berth"

    def run(self, *arguments: str | Path) -> str:
        """Return the output of `berth ARGUMENT...`. Raises CalledProcessError."""
        return self.output([self.command, *arguments])

    def python(self, code: str) -> str:
        """Return the output of a script in the environment's interpreter."""
        return self.output([self.environment / "bin" / "python", "-I", "-c", code])

    def output(self, command: Sequence[str | Path]) -> str:
        """Return the output of a program. Raises CalledProcessError."""
        done = subprocess.run(
            command, cwd=self.folder, env=_variables(), stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True
        )
        return done.stdout


def build(directory: Path) -> Path:
    """Build the source distribution and from it the wheel into `directory`, and return the only wheel there."""
    for old in (*directory.glob("berth-*.whl"), *directory.glob("berth-*.tar.gz")):
        old.unlink()
    options = ("--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", directory)
    _uv("build", *options, PROJECT)
    (wheel,) = directory.glob("berth-*.whl")
    return wheel


def install(wheel: Path, directory: Path) -> Installation:
    """Make an environment below `directory`, with the wheel and the locked requirements."""
    installation = Installation(directory / "environment", directory / "folder")
    installation.folder.mkdir()
    python = installation.environment / "bin" / "python"
    _uv("venv", "--quiet", "--python", sys.executable, installation.environment)
    _uv("pip", "sync", "--quiet", "--require-hashes", "--python", python, REQUIREMENTS)
    _uv("pip", "install", "--quiet", "--no-deps", "--python", python, wheel)
    # The locked versions must satisfy the requirements of the wheel.
    _uv("pip", "check", "--quiet", "--python", python)
    return installation


def _uv(*arguments: str | Path) -> None:
    subprocess.run([UV, *arguments], env=_variables(), check=True, timeout=SECONDS)


def _variables() -> dict[str, str]:
    """Return the environment variables without those of this folder's environment."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
