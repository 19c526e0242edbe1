"""Every berth command and every make target in the documents exists, with the options that the documents give it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Any

import click
import pytest

from berth_cli.main import main
from tests.conftest import PROJECT

PAGES = sorted([*PROJECT.glob("docs/**/*.md"), *PROJECT.glob("*.md"), *PROJECT.glob("examples/**/*.md")])
GENERATED = {"cli.md"}
BLOCK = re.compile(r"^ *```console\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:^|[(;&|]) *(?:[\w./-]*/)?(berth|make) +([a-z][^;&|#()>…]*)")
OF_EVERY_COMMAND = {"--help", "-h", "--version"}


def lines(text: str) -> Iterator[str]:
    """What a reader can copy: lines behind a prompt, and code in a sentence."""
    for block in BLOCK.findall(text):
        yield from (line[2:] for line in block.replace("\\\n", " ").splitlines() if line.startswith("$ "))
    sentences = re.sub(r"```.*?```", "", text, flags=re.DOTALL).replace("\n", " ")
    yield from (code for code in INLINE.findall(sentences) if code.startswith(("berth ", "make ")))


def documented(program: str) -> Iterator[Any]:
    """The words after the program's name, once for each page."""
    for path in PAGES:
        if path.name in GENERATED:
            continue
        found = [match for line in lines(path.read_text()) for match in COMMAND.findall(line)]
        for words in dict.fromkeys(rest.strip() for name, rest in found if name == program):
            yield pytest.param(words.split(), id=f"{path.stem}: {words[:60]}")


@cache
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z0-9-]*):", (PROJECT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("words", list(documented("berth")))
def test_berth_command_exists(words: list[str]) -> None:
    command: click.Command = main
    rest = iter(words)
    for word in rest:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(click.Context(command), word.strip(":"))
        assert found is not None or word.isupper(), word
        command = found or command
    options = {word.partition("=")[0].strip(",.:") for word in words if re.match(r"--?[a-z]", word)}
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert options <= known | OF_EVERY_COMMAND


@pytest.mark.parametrize("words", list(documented("make")))
def test_make_target_exists(words: list[str]) -> None:
    targets = list(takewhile(lambda word: re.fullmatch(r"[a-z][a-z0-9-]*", word), words))
    assert targets
    assert set(targets) <= make_targets()
