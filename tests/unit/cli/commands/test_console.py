"""`berth console`: its options, and errors at its start."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from berth_cli.commands.console import console
from berth_cli.console.running import Console, ConsoleContents
from berth_cli.server.http.server import ListenError
from tests.conftest import CLUSTER

DUMP = ["--cluster", str(CLUSTER)]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param([], "give one of --cluster DUMP, --kubeconfig FILE and --stack NAME", id="no source"),
        pytest.param([*DUMP, "--stack", "s"], "give one of --cluster DUMP", id="two sources"),
        pytest.param(["--stack", "s", "--profile", "full"], "have no effect with --stack", id="the stack has a policy"),
        pytest.param([*DUMP, "--region", "eu-west-1"], "--region needs --stack", id="a region without a stack"),
        pytest.param(["--cluster", "/no/such/dump"], "does not exist", id="missing file"),
        pytest.param([*DUMP, "--profile", "no-such"], "no-such", id="unknown profile"),
        pytest.param([*DUMP, "--host", "0.0.0.0"], "No such option '--host'", id="an address that is not loopback"),
    ],
)
def test_console_rejects_wrong_options_with_one_line(arguments: list[str], line: str) -> None:
    done = CliRunner().invoke(console, arguments)
    assert done.exit_code == 2
    assert line in done.stderr
    assert done.stdout == ""


def test_weight_option_is_used_for_explanations_and_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ConsoleContents] = []

    def open_console(shown: ConsoleContents, *_: object) -> Console:
        asked.append(shown)
        raise ListenError("not here")

    monkeypatch.setattr("berth_cli.console.running.open_console", open_console)
    CliRunner().invoke(console, [*DUMP, "--weight", "5"])
    assert [each.weight for each in asked] == [5]


def test_error_for_a_port_in_use_names_the_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = CliRunner().invoke(console, [*DUMP, "--port", str(taken.getsockname()[1])])
    assert done.exit_code == 1
    assert "choose another with --port" in done.stderr


def test_error_names_an_unreadable_kubeconfig(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("{}")
    done = CliRunner().invoke(console, ["--kubeconfig", str(path), "--port", "0"])
    assert done.exit_code == 1
    assert str(path) in done.stderr
