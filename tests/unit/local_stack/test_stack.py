"""What is missing is said before the build, which takes a minute."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.deployment import emulator, sam
from tests.e2e.loopback import HOST, free_port
from tools.local_stack.__main__ import main
from tools.local_stack.stack import ENVIRONMENT, SCHEDULER, CannotStart, check_tools, read_kubeconfig, remove_files


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = tmp_path / "present"
    present.touch()
    monkeypatch.setattr(sam, "COMMAND", present)
    monkeypatch.setattr(emulator, "COMMAND", present)


@pytest.mark.usefixtures("tools")
def test_accepts_tools_and_free_port() -> None:
    check_tools(free_port())


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("tool", "name"), [pytest.param(sam, "sam", id="sam"), pytest.param(emulator, "ministack", id="the emulator")]
)
def test_names_missing_tool_and_what_installs_it(
    tool: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "COMMAND", tmp_path / "absent")
    with pytest.raises(CannotStart, match=rf"{name}.* is not installed: .*; run: make local-stack"):
        check_tools(free_port())


@pytest.mark.usefixtures("tools")
def test_names_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"port {port} cannot be used: .*PORT="):
            check_tools(port)


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "\x00"])
def test_refuses_file_that_is_no_kubeconfig(text: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(CannotStart, match="is not a kubeconfig"):
        read_kubeconfig(file)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        pytest.param(["--stop"], 0, "no local stack is running", id="nothing to stop"),
        pytest.param(["--cluster", "absent.yaml"], 2, "does not exist", id="no such dump"),
        pytest.param(["--cluster", "{file}", "--kubeconfig", "{file}"], 2, "not both", id="two clusters"),
        pytest.param(["--parameter", "Name"], 2, "write NAME=VALUE", id="half a parameter"),
    ],
)
def test_reports_wrong_options(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    words = [f"--directory={tmp_path / 'local-stack'}", *(each.format(file=file) for each in arguments)]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, message in done.output) == (status, True), done.output


def test_removes_the_files_that_have_the_password(tmp_path: Path) -> None:
    for name in (ENVIRONMENT, SCHEDULER, "account"):
        (tmp_path / name).touch()
    for _ in range(2):
        remove_files(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["account"]
