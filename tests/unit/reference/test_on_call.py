"""docs/how-to/on-call.md: a section for each alarm of the template, with the time one has and three commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.documents import commands
from tests.conftest import PROJECT
from tests.deployment.template import of_type, read_template
from tests.unit.reference import test_aws_commands as aws
from tests.unit.reference import test_documented_commands as berth

PAGE = PROJECT / "docs" / "how-to" / "on-call.md"
SECTIONS: dict[str, str] = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
SHELL_FUNCTIONS = {"logs", "calls"}


def test_every_alarm_has_a_section() -> None:
    assert {f"{name}Alarm" for name in SECTIONS} == of_type(read_template(), "AWS::CloudWatch::Alarm").keys()


@pytest.mark.parametrize("name", SECTIONS)
def test_section_has_the_time_and_three_existing_commands(name: str, tmp_path: Path) -> None:
    assert re.search(r"\*\*[^*]+\*\*", SECTIONS[name])
    page = tmp_path / "section.md"
    page.write_text(SECTIONS[name])
    lines = [command.line.partition(" #")[0].strip() for command in commands(page)]
    assert len(lines) == 3
    for line in lines:
        program, *words = line.split()
        if program == "berth":
            assert berth.is_known(words)
        elif program == "aws":
            assert aws.is_known(words[0], words[1], [word for word in words if word.startswith("--")])
        else:
            assert program in {"kubectl", *SHELL_FUNCTIONS}


def test_page_defines_its_shell_functions() -> None:
    introduction = {command.line.partition("(")[0] for command in commands(PAGE)}
    assert introduction >= SHELL_FUNCTIONS
    assert not berth.is_known(["doctor", "--stak"])
