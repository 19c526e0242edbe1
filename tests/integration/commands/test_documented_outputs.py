"""Pages that show what `berth` prints on files of this repository: the page has what the command prints now."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from berth_cli.main import main
from tests.conftest import PROJECT

PAGES = (
    "docs/how-to/explain.md",
    "docs/how-to/policy-diff.md",
    "docs/how-to/policy-test.md",
    "docs/how-to/simulate.md",
)
_BLOCK = re.compile(r"^```console\n\$ (berth [^\n]* examples/[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

_AGE = re.compile(r"pending for [0-9]+ (s|min|h|d)\b")


EXAMPLES = [example for page in PAGES for example in _BLOCK.findall((PROJECT / page).read_text())]


@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_page_shows_what_the_command_prints(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    command, _, last_lines = command.partition(" | tail -n ")
    printed = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="berth").output
    if last_lines:
        printed = "".join(printed.splitlines(keepends=True)[-int(last_lines) :])
    assert without_ages(printed) == without_ages(output)


def test_readme_shows_lines_that_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    [(command, output)] = _BLOCK.findall((PROJECT / "README.md").read_text())
    printed = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="berth").output.splitlines()
    assert [line for line in output.splitlines() if line != "…" and line not in printed] == []


def without_ages(text: str) -> str:
    """The pod of a dump gets older."""
    return _AGE.sub("pending for a while", text)


@pytest.mark.parametrize("page", PAGES)
def test_page_has_such_an_example(page: str) -> None:
    assert _BLOCK.search((PROJECT / page).read_text())
