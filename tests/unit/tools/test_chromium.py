"""`make chromium`: installs a browser where that is possible, says why where it is not, and never stops a lane."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.lanes.steps import PROJECT

SCRIPT = PROJECT / "tools" / "console" / "chromium.sh"
NOT_ROOT, ROOT = "echo 1000", "echo 0"
HAS_PACKAGE = "echo '  Candidate: 156.0'"
NO_PACKAGE = "echo '  Candidate: (none)'"


def run(folder: Path, commands: dict[str, str]) -> str:
    """The script's output where there are only these commands, each a line of shell. It must end with 0."""
    for name in ("bash", "env", "grep", "touch"):
        (folder / name).symlink_to(shutil.which(name) or name)
    for name, body in commands.items():
        path = folder / name
        path.write_text(f"#!{folder}/bash\n{body}\n")
        path.chmod(0o755)
    environment = {"PATH": str(folder), "FOLDER": str(folder)}
    return subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("commands", "wanted"),
    [
        pytest.param({"google-chrome": ""}, "/google-chrome\n", id="there is one"),
        pytest.param({}, "not installed: there is no apt-get", id="no apt-get"),
        pytest.param({"apt-get": "", "id": NOT_ROOT}, "not installed: it takes root", id="no sudo"),
        pytest.param(
            {"apt-get": "", "id": NOT_ROOT, "sudo": "exit 1"}, "not installed: it takes root", id="sudo with a password"
        ),
        pytest.param(
            {"apt-get": "exit 100", "id": ROOT, "apt-cache": NO_PACKAGE},
            "not installed: apt-get update failed",
            id="no network",
        ),
        pytest.param(
            {"apt-get": "", "id": ROOT, "apt-cache": NO_PACKAGE},
            "not installed: no package source of apt-get has chromium",
            id="no package",
        ),
        pytest.param(
            {"apt-get": "exit 100", "id": ROOT, "apt-cache": HAS_PACKAGE},
            "not installed: apt-get install chromium failed",
            id="it cannot be installed",
        ),
    ],
)
def test_says_what_there_is_or_why_there_is_none(tmp_path: Path, commands: dict[str, str], wanted: str) -> None:
    assert wanted in run(tmp_path, commands)


@pytest.mark.parametrize(
    "user",
    [
        pytest.param({"id": ROOT}, id="root"),
        pytest.param({"id": NOT_ROOT, "sudo": '[ $1 = -n ] && shift; "$@"'}, id="sudo without a password"),
    ],
)
def test_installs_with_apt_get(tmp_path: Path, user: dict[str, str]) -> None:
    install = "case $* in *install*chromium) touch $FOLDER/chromium; /bin/chmod +x $FOLDER/chromium;; esac"
    commands = {"apt-get": install, "apt-cache": HAS_PACKAGE, "true": "", **user}
    assert run(tmp_path, commands).endswith("/chromium, installed now\n")


def test_installs_with_a_new_index_where_the_old_one_is_outdated(tmp_path: Path) -> None:
    install = "[ -e $FOLDER/updated ] || exit 100; touch $FOLDER/chromium; /bin/chmod +x $FOLDER/chromium"
    apt_get = f"case $* in update*) touch $FOLDER/updated;; *install*chromium) {install};; esac"
    commands = {"apt-get": apt_get, "apt-cache": HAS_PACKAGE, "id": ROOT}
    assert run(tmp_path, commands).endswith("/chromium, installed now\n")
