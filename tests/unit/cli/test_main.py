"""Rules that hold for every command: usage line, exit status, signals, system errors."""

from __future__ import annotations

import errno
import signal
import sys
import tomllib
from importlib.metadata import EntryPoint

import pytest
from click.testing import CliRunner, Result

from berth.scheduling.framework.plugin import PluginFailed
from berth_cli.commands import config as config_command
from berth_cli.main import main
from tests.conftest import PROJECT


def run_failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Result:
    def schema_text() -> str:
        raise error

    monkeypatch.setattr(config_command, "schema_text", schema_text)
    return CliRunner().invoke(main, ["config", "schema"], prog_name="berth")


@pytest.mark.parametrize(("script", "name"), [("berth", "berth"), ("kubectl-berth", "kubectl berth")])
def test_usage_line_shows_the_name_the_command_was_called_by(
    script: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]
    monkeypatch.setattr(sys, "argv", [script, "explain", "--help"])
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)  # `python -m pytest` has one
    with pytest.raises(SystemExit) as ended:
        EntryPoint(script, scripts[script], "console_scripts").load()()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"Usage: {name} explain [OPTIONS] [NAMESPACE/]POD\n")


def test_exits_with_130_on_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_failing_with(KeyboardInterrupt(), monkeypatch)
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "stopped\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_command_like_ctrl_c(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    released: list[str] = []

    def schema_text() -> str:
        try:
            signal.raise_signal(number)
        finally:
            released.append("what it holds")
        return ""

    monkeypatch.setattr(config_command, "schema_text", schema_text)
    done = CliRunner().invoke(main, ["config", "schema"], prog_name="berth")
    assert (done.exit_code, done.stderr, released) == (143, "stopped\n", ["what it holds"])


def test_signal_that_the_parent_process_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert CliRunner().invoke(main, ["config", "schema"], prog_name="berth").exit_code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_reports_full_disk_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_failing_with(OSError(errno.ENOSPC, "No space left on device"), monkeypatch)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: cannot write the output: No space left on device\n"


def test_reports_failing_custom_plugin_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_failing_with(PluginFailed("berth_plugins.mine:Mine", "shape", "KeyError: 'team'"), monkeypatch)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: plugin berth_plugins.mine:Mine failed in shape: KeyError: 'team'\n"


def test_raises_os_error_without_file_name_except_for_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(run_failing_with(OSError(errno.EBADF, "Bad file descriptor"), monkeypatch).exception, OSError)
