"""The folder that the image is built from: berth and what it needs, installed for the base image's Python."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
IMAGE = PROJECT / "image"
FILES = ("Dockerfile", "berth", "berth-healthcheck")
UV = Path(sys.executable).with_name("uv")
MACHINES = {"aarch64": "aarch64", "arm64": "aarch64", "x86_64": "x86_64", "AMD64": "x86_64"}


class InstallationFailed(Exception):
    """uv failed; the message has the end of its output."""


def prepare(directory: Path, python_version: str) -> None:
    """Fill `directory` anew. Raises InstallationFailed."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name in FILES:
        shutil.copy(IMAGE / name, directory)
    wheels = directory / "wheels"
    _uv("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", wheels)
    install = (
        *("pip", "install", "--no-deps", "--target", directory / "site"),
        *("--python-version", python_version),
        *("--python-platform", f"{MACHINES[platform.machine()]}-manylinux_2_28", "--only-binary", ":all:"),
    )
    _uv(*install, "--require-hashes", "--requirement", PROJECT / "requirements" / "cli.txt")
    _uv(*install, *wheels.glob("*.whl"))
    shutil.rmtree(wheels)
    shutil.rmtree(directory / "site" / "bin", ignore_errors=True)  # scripts for this machine's Python


def _uv(*arguments: str | Path) -> None:
    done = subprocess.run([UV, "--quiet", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallationFailed(f"uv {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
