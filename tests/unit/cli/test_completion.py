"""Shell completion of the command, as docs/how-to/run-locally.md describes it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from berth_cli.main import COMMANDS, main
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "how-to" / "run-locally.md").read_text()


def complete(words: str) -> set[str]:
    """The completions of the last word, as bash asks for them."""
    environment = {
        "_BERTH_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = CliRunner().invoke(main, [], prog_name="berth", env=environment)
    assert done.exit_code == 0, done.output
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("berth ", set(COMMANDS), id="commands"),
        pytest.param("berth re", {"reservations"}, id="a part of a command"),
        pytest.param("berth reservations ", {"list", "rebuild"}, id="commands of a group"),
        pytest.param("berth doctor -o ", {"table", "json", "yaml"}, id="values of an option"),
        pytest.param("berth doctor --watcher-", {"--watcher-user"}, id="options"),
    ],
)
def test_completes(words: str, expected: set[str]) -> None:
    assert complete(words) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_documented_shell_has_a_script(shell: str) -> None:
    assert f"_BERTH_COMPLETE={shell}_source" in PAGE
    done = CliRunner().invoke(main, [], prog_name="berth", env={"_BERTH_COMPLETE": f"{shell}_source"})
    assert done.exit_code == 0
    assert "_BERTH_COMPLETE" in done.stdout
