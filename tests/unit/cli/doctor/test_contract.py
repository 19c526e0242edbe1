"""`berth doctor --explain-fact`: the facts that findings cite."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from berth_cli.doctor.contract import PAGE, facts
from berth_cli.main import main
from tests.conftest import PROJECT


def explain(number: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--explain-fact", number], prog_name="berth")


@pytest.mark.parametrize("number", ["1", "15a", "41"])
def test_prints_the_whole_fact(number: str) -> None:
    done = explain(number)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"**Fact {number}.** ")
    assert "*Berth:" in done.stdout
    assert done.stdout.count("**Fact") == 1


def test_knows_every_fact_of_the_page() -> None:
    anchors = re.findall(r'<a id="fact-([^"]+)">', (PROJECT / PAGE).read_text())
    assert list(facts()) == anchors


def test_unknown_fact_lists_those_that_there_are() -> None:
    done = explain("999")
    assert done.exit_code == 2
    assert "there is no fact 999; the facts are 1, 2, 3, " in done.stderr
