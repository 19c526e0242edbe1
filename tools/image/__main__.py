"""`python -m tools.image [--base IMAGE] [--tag NAME]`: build the image."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from berth import __version__
from tools.image.base import base_image, python_version
from tools.image.context import PROJECT, InstallationFailed, prepare
from tools.image.docker import DockerUnavailable, docker, may_skip

CONTEXT = PROJECT / ".build" / "image"
TAG = f"berth:{__version__}"
EPILOG = """\b
Examples:
  make image
  make image BASE=registry.example.com/python:3.13 TAG=registry.example.com/berth:0.1.0

\b
Exit status: 0 built, 1 failed, 2 usage error.
"""


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--base", default="", help="Image with Python 3.11 or later.  [default: python:3.13-slim, or Debian's]")
@click.option("--tag", default=TAG, show_default=True, help="Name of the image.")
def main(base: str, tag: str) -> None:
    """Build the image of the berth command, for this machine's architecture."""
    try:
        with _step("base image"):
            found = base_image(base)
            version = python_version(found)
        with _step(f"berth and its dependencies for Python {version}"):
            prepare(CONTEXT, version)
        with _step("docker build"):
            docker("build", "--quiet", "--network=none", f"--build-arg=BASE={found}", f"--tag={tag}", CONTEXT)
        size = int(docker("image", "inspect", "--format={{.Size}}", tag))
    except DockerUnavailable as error:
        if may_skip(error):
            return
        raise click.ClickException(str(error)) from error
    except InstallationFailed as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"built {tag} from {found}: {size / 1e6:.0f} MB")


@contextmanager
def _step(name: str) -> Iterator[None]:
    started = time.monotonic()
    click.echo(f"{name} …", err=True)
    yield
    click.echo(f"{name}: {time.monotonic() - started:.0f} s", err=True)


if __name__ == "__main__":
    main(prog_name="image")
