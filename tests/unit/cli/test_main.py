"""What holds for every command."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner, Result

from berth_cli.config import command as config_command
from berth_cli.main import COMMANDS, main


def leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from leaves(inner, (*path, name))


def every_command() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(main)
    for name in COMMANDS:
        found = main.get_command(context, name)
        assert found is not None
        yield from leaves(found, (name,))


def ends_by(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Result:
    def schema_text() -> str:
        raise error

    monkeypatch.setattr(config_command, "schema_text", schema_text)
    return CliRunner().invoke(main, ["config", "schema"], prog_name="berth")


@pytest.mark.parametrize(
    ("path", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in every_command()]
)
def test_help_has_examples_that_can_be_copied(path: tuple[str, ...], command: click.Command) -> None:
    """None is broken in two to fit the terminal, nor two joined into one."""
    help_text = CliRunner().invoke(main, [*path, "--help"], prog_name="berth", terminal_width=80).stdout
    assert f"berth {' '.join(path)}" in (command.epilog or "")
    printed = {line.strip() for line in help_text.splitlines()}
    assert {line.strip() for line in (command.epilog or "").splitlines()} - {"\b", ""} <= printed


def test_ctrl_c_ends_a_command_as_a_shell_expects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    done = ends_by(KeyboardInterrupt(), monkeypatch)
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "stopped\n")


def test_a_full_disk_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    done = ends_by(OSError(errno.ENOSPC, "No space left on device"), monkeypatch)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: what is printed or written does not fit: No space left on device\n"


def test_any_other_error_of_the_system_is_a_defect_and_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(ends_by(OSError(errno.EBADF, "Bad file descriptor"), monkeypatch).exception, OSError)
