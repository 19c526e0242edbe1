"""Where the base image comes from, with a command docker that answers as told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.image.base import DEBIAN, PUBLIC, base_image
from tools.image.docker import DockerUnavailable, docker, may_skip

# $IMAGES: those that there are; $PULL: exit status of a pull.
DOCKER = """#!/bin/sh
case $1 in
  version) exit ${DAEMON:-0} ;;
  images) case " $IMAGES " in *" $3 "*) echo 0123456789ab ;; esac ;;
  pull) [ "${PULL:-0}" = 0 ] || echo "dial tcp: lookup registry: no such host" >&2; exit ${PULL:-0} ;;
esac
"""


@pytest.fixture(autouse=True)
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "docker"
    script.write_text(DOCKER)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "images", "pull", "expected"),
    [
        pytest.param("mine:1", "", "1", "mine:1", id="the one that is named"),
        pytest.param("", PUBLIC, "1", PUBLIC, id="the public one that is there"),
        pytest.param("", DEBIAN, "0", PUBLIC, id="the public one from its registry"),
        pytest.param("", DEBIAN, "1", DEBIAN, id="without a registry the one that was made before"),
    ],
)
def test_takes(name: str, images: str, pull: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGES", images)
    monkeypatch.setenv("PULL", pull)
    assert base_image(name) == expected


def test_says_what_to_do_without_registry_and_debootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULL", "1")
    with pytest.raises(DockerUnavailable, match=r"no such host.*debootstrap.*make image BASE="):
        base_image()


def test_reports_daemon_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAEMON", "1")
    with pytest.raises(DockerUnavailable):
        base_image("mine:1")


def test_reports_missing_command(tmp_path: Path) -> None:
    (tmp_path / "docker").unlink()
    with pytest.raises(DockerUnavailable, match="not installed"):
        docker("version")


@pytest.mark.parametrize(
    ("ci", "daemon", "skipped"),
    [
        pytest.param("true", "1", True, id="CI without a daemon"),
        pytest.param("true", "0", False, id="CI with a daemon, where something else failed"),
        pytest.param("", "1", False, id="a machine without a daemon"),
    ],
)
def test_only_continuous_integration_may_lack_docker(
    ci: str, daemon: str, skipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("DAEMON", daemon)
    assert may_skip(DockerUnavailable("no daemon")) is skipped
