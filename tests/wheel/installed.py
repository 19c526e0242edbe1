"""`berth`, built, and installed into a fresh environment with what is locked for it."""

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
class Installed:
    """`environment`: a virtual environment; `folder`: where its commands are run, with nothing of the project in it."""

    environment: Path
    folder: Path

    @property
    def command(self) -> Path:
        return self.environment / "bin" / "berth"

    def run(self, *arguments: str | Path) -> str:
        """What `berth ARGUMENT...` prints. Raises CalledProcessError."""
        return self._printed([self.command, *arguments])

    def python(self, code: str) -> str:
        """What a script prints, in the interpreter that has berth."""
        return self._printed([self.environment / "bin" / "python", "-I", "-c", code])

    def _printed(self, command: Sequence[str | Path]) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=_variables(), stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True
        )
        return done.stdout


def build(directory: Path) -> Path:
    """Build the source distribution into `directory`, the wheel from that, and return the wheel, the only one there."""
    for old in (*directory.glob("berth-*.whl"), *directory.glob("berth-*.tar.gz")):
        old.unlink()
    options = ("--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", directory)
    _uv("build", *options, PROJECT)
    (wheel,) = directory.glob("berth-*.whl")
    return wheel


def install(wheel: Path, directory: Path) -> Installed:
    """Make an environment below `directory`, with the wheel and the locked requirements."""
    installed = Installed(directory / "environment", directory / "folder")
    installed.folder.mkdir()
    python = installed.environment / "bin" / "python"
    _uv("venv", "--quiet", "--python", sys.executable, installed.environment)
    _uv("pip", "sync", "--quiet", "--require-hashes", "--python", python, REQUIREMENTS)
    _uv("pip", "install", "--quiet", "--no-deps", "--python", python, wheel)
    # The locked versions are such as the wheel asks for.
    _uv("pip", "check", "--quiet", "--python", python)
    return installed


def _uv(*arguments: str | Path) -> None:
    subprocess.run([UV, *arguments], env=_variables(), check=True, timeout=SECONDS)


def _variables() -> dict[str, str]:
    """Nothing that leads to this folder's own environment."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
