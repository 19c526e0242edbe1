"""The image that Berth's image starts from: a public one with Python, or one made from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.image.docker import DockerUnavailable, docker, pipe_into_docker

PUBLIC = "python:3.13-slim"
DEBIAN = "berth-base:debian"
INCLUDED = "python3,ca-certificates"
PYTHON_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def base_image(name: str = "") -> str:
    """The image of this name. Without a name the public one, or where no registry answers, Debian's.

    Raises DockerUnavailable.
    """
    docker("version")
    if name:
        return name
    if _is_present(PUBLIC):
        return PUBLIC
    try:
        docker("pull", "--quiet", PUBLIC)
    except DockerUnavailable as error:
        if not _is_present(DEBIAN):
            _make_from_debian(error)
        return DEBIAN
    return PUBLIC


def python_version(image: str) -> str:
    """Of the image's python3, such as 3.13."""
    return docker("run", "--rm", "--network=none", "--entrypoint=python3", image, "-c", PYTHON_VERSION)


def _is_present(image: str) -> bool:
    return docker("images", "--quiet", image) != ""


def _make_from_debian(refused: DockerUnavailable) -> None:
    """The release of this machine, from where it gets its own packages: a minimal one with Python."""
    debootstrap = shutil.which("debootstrap")
    if debootstrap is None or os.geteuid() != 0:
        raise DockerUnavailable(
            f"{PUBLIC} cannot be pulled ({refused}), and only root with debootstrap can make a base image; "
            "name one with Python 3.11 or later: make image BASE=…"
        )
    codename, mirror = _release()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        done = subprocess.run(
            [debootstrap, "--variant=minbase", f"--include={INCLUDED}", codename, root, mirror],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DockerUnavailable(f"debootstrap ended with {done.returncode}: {done.stdout.splitlines()[-1:]}")
        pipe_into_docker(["tar", "-C", root, "-c", "."], "import", "-", DEBIAN)


def _release() -> tuple[str, str]:
    """Codename and mirror of this machine's Debian."""
    apt_get = shutil.which("apt-get")
    targets = (
        []
        if apt_get is None
        else subprocess.run(
            [apt_get, "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
    )
    if not targets:
        raise DockerUnavailable("this machine has no mirror of Debian's packages; name a base image: make image BASE=…")
    return targets[0], targets[1]
