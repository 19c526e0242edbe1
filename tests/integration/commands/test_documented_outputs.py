"""Pages that show what `berth` prints on files of this repository: the page has what the command prints now."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from berth_cli.main import main
from tests.builders.documents import PAGES, Command, commands, matches
from tests.conftest import PROJECT

_AGE = re.compile(r"pending for [0-9]+ (s|min|h|d)\b")
_IN_A_FOLDER = re.compile(r"\(cd (examples/\S+) && (berth [^|<>&;]*)\)")
_ONE_COMMAND = re.compile(rf"berth [^|<>&;]* examples/[^|<>&;]*(\| tail -n \d+)?|{_IN_A_FOLDER.pattern}")
_OF_THE_READER = re.compile(r"^berth (serve |.* berth\.yaml)")
"""A server does not end, and a file that the page has the reader write is not here."""

EXAMPLES = [
    pytest.param(command, id=f"{page.stem}-{position}")
    for page in PAGES
    for position, command in enumerate(commands(page))
    if command.output and _ONE_COMMAND.fullmatch(command.line) and not _OF_THE_READER.search(command.line)
]


@pytest.mark.parametrize("command", EXAMPLES)
def test_page_shows_the_actual_output_of_each_command(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = _IN_A_FOLDER.fullmatch(command.line)
    folder, line = inside.groups() if inside else ("", command.line)
    monkeypatch.chdir(PROJECT / folder)
    line, _, last = line.partition(" | tail -n ")
    printed = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="berth").output.splitlines()
    shown = tuple(without_ages(each) for each in command.output)
    assert matches(shown, [without_ages(each) for each in printed[-int(last) if last else 0 :]]), printed


def without_ages(text: str) -> str:
    """The pod of a dump gets older."""
    return _AGE.sub("pending for a while", text)
