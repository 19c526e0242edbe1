"""`python -m tools.image [--base IMAGE] [--tag NAME]`: builds the image."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from berth import __version__
from tests.deployment.docker import DockerUnavailable, docker
from tests.deployment.sam import PROJECT, Machine

IMAGE, CONTEXT = PROJECT / "image", PROJECT / ".build" / "image"
PUBLIC = "python:3.13-slim"
TAG = f"berth:{__version__}"
UV = Path(sys.executable).with_name("uv")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--base", default="", help=f"Image with Python 3.11 or later.  [default: {PUBLIC}]")
@click.option("--tag", default=TAG, show_default=True, help="Name of the image.")
def main(base: str, tag: str) -> None:
    """Build the image of the berth command, for this machine's architecture."""
    try:
        found = base or _default_base()
        version = docker("run", "--rm", "--network=none", "--entrypoint=python3", found, "--version").split()[1]
        _prepare(version)
        docker("build", "--quiet", "--network=none", f"--build-arg=BASE={found}", f"--tag={tag}", CONTEXT)
        size = int(docker("image", "inspect", "--format={{.Size}}", tag))
    except DockerUnavailable as error:
        raise click.ClickException(f"{error}; another base: make image BASE=…") from error
    click.echo(f"built {tag} from {found}: {size / 1e6:.0f} MB")


def _default_base() -> str:
    """Return the public base image, or, if no registry has it, the image in which functions run on this machine."""
    try:
        docker("images", "--quiet", PUBLIC) or docker("pull", "--quiet", PUBLIC)
    except DockerUnavailable:
        local = Machine.this().base_image
        if docker("images", "--quiet", local):
            return local
        raise
    return PUBLIC


def _prepare(python_version: str) -> None:
    """Fill the folder from which the image is built: berth and its dependencies, for the base image's Python."""
    shutil.rmtree(CONTEXT, ignore_errors=True)
    CONTEXT.mkdir(parents=True)
    for name in ("Dockerfile", "berth", "berth-healthcheck"):
        shutil.copy(IMAGE / name, CONTEXT)
    wheels, site = CONTEXT / "wheels", CONTEXT / "site"
    machine = Machine.this().architecture.replace("arm64", "aarch64")
    _uv("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", wheels)
    install = (
        *("pip", "install", "--no-deps", "--target", site, "--python-version", python_version),
        *("--python-platform", f"{machine}-manylinux_2_28", "--only-binary", ":all:"),
    )
    _uv(*install, "--require-hashes", "--requirement", PROJECT / "requirements" / "cli.txt")
    _uv(*install, *wheels.glob("*.whl"))
    shutil.rmtree(wheels)
    shutil.rmtree(site / "bin", ignore_errors=True)  # these scripts are for this machine's Python


def _uv(*arguments: str | Path) -> None:
    done = subprocess.run([UV, "--quiet", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"uv {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    main(prog_name="image")
