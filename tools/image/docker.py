"""The command docker."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


class DockerUnavailable(Exception):
    """The command, the daemon or what it was asked for is missing. The message is one line."""


def docker(*arguments: str | Path, stdin: str = "") -> str:
    """Run the command and return its output. Raises DockerUnavailable with the last line of its errors."""
    done = subprocess.run([_command(), *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DockerUnavailable(_cause(done.stderr) or f"docker {arguments[0]} failed")
    return done.stdout.strip()


def pipe_into_docker(source: Sequence[str | Path], *arguments: str | Path) -> None:
    """Run docker with the output of another command as its input. Raises DockerUnavailable."""
    with subprocess.Popen(source, stdout=subprocess.PIPE) as producer:
        done = subprocess.run(
            [_command(), *arguments], stdin=producer.stdout, capture_output=True, text=True, check=False
        )
    if producer.returncode or done.returncode:
        raise DockerUnavailable(_cause(done.stderr) or f"{source[0]} ended with {producer.returncode}")


def may_skip(error: DockerUnavailable) -> bool:
    """Continuous integration may have no Docker: print that nothing was done. False where Docker is there."""
    if os.environ.get("CI") != "true":
        return False
    try:
        docker("version")
    except DockerUnavailable:
        print(f"image: not run without Docker: {error}")
        return True
    return False


def _command() -> str:
    found = shutil.which("docker")
    if found is None:
        raise DockerUnavailable("the command docker is not installed")
    return found


def _cause(errors: str) -> str:
    lines = errors.strip().splitlines()
    return lines[-1] if lines else ""
