"""The command docker."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class DockerUnavailable(Exception):
    """The command, the daemon or the requested object is missing. The message is one line."""


def docker(*arguments: str | Path, stdin: str = "") -> str:
    """Run the command and return its output. Raises DockerUnavailable with the last line of its errors."""
    command = shutil.which("docker")
    if command is None:
        raise DockerUnavailable("the command docker is not installed")
    done = subprocess.run([command, *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DockerUnavailable((done.stderr.strip().splitlines() or [f"docker {arguments[0]} failed"])[-1])
    return done.stdout.strip()
