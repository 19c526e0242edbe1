"""Blocks of code in the documents: what the copy button takes can be pasted, and every line fits the page."""

from __future__ import annotations

import re
import subprocess

import yaml
from pygments.lexers.shell import BashSessionLexer
from pygments.token import STANDARD_TYPES, Generic

from tests.builders.documents import PAGES, blocks, commands
from tests.conftest import PROJECT

MAX_COLUMNS = 85
"""What the site shows of a line without scrolling."""
HIDDEN = {Generic.Prompt, Generic.Output}
NOT_HERE = {"architecture.md"}
"""A tree has a comment on each folder."""


def copied(block: str) -> str:
    """What the site's copy button takes of a console block: the style sheet hides the rest, by the lexer's classes."""
    return "".join(text for token, text in BashSessionLexer().get_tokens(block) if token not in HIDDEN)


def test_style_sheet_hides_prompt_and_output_from_the_copy_button() -> None:
    [name] = yaml.safe_load(re.sub(r"!!python/\S+", "", (PROJECT / "mkdocs.yml").read_text()))["extra_css"]
    selectors, _, _ = (PROJECT / "docs" / name).read_text().partition("{")
    assert [token for token in HIDDEN if f"[data-md-copying] .{STANDARD_TYPES[token]}" not in selectors] == []


def test_copies_a_command_with_its_continuation_and_without_output() -> None:
    block = "$ echo a \\\n    b\na b\n$ ls   # files\nx\n"
    assert [line for line in copied(block).splitlines() if line] == ["echo a \\", "    b", "ls   # files"]


def test_shell_reads_every_command_that_is_copied() -> None:
    """A command that goes on without a backslash would lose its second line, which then counts as output."""
    found = {page: [*commands(page)] for page in PAGES}
    assert sum(map(len, found.values())) > 200
    wrong = {}
    for page in PAGES:
        pasted = "\n".join(copied(block) for block in blocks(page, "console"))
        done = subprocess.run(["bash", "-n"], input=pasted, capture_output=True, text=True, check=False)
        if done.returncode:
            wrong[page.name] = done.stderr
    assert wrong == {}


def test_no_line_is_broken_inside_of_single_quotes() -> None:
    """The shell keeps the backslash there."""
    quoted = re.compile(r"\"(?:\\.|[^\"\\])*\"|#[^\n]*|('[^']*')", re.DOTALL)
    broken = [
        (page.name, text)
        for page in PAGES
        for block in blocks(page, "console")
        for text in re.findall(r"^\$ ((?:.*\\\n)*.*)", block, re.MULTILINE)
        if any("\\\n" in each for each in quoted.findall(text))
    ]
    assert broken == []


def test_lines_of_code_fit_the_page() -> None:
    found = [(page.name, line) for page in PAGES for block in blocks(page) for line in block.splitlines()]
    assert len(found) > 500
    assert [each for each in found if len(each[1]) > MAX_COLUMNS and each[0] not in NOT_HERE] == []
