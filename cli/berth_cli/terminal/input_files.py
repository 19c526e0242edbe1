"""Reads the input files of commands; `-` is standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

STDIN = "-"
MAX_NAMES = 5
"""The maximum number of names in a message."""


class InvalidInput(click.ClickException):
    """An unusable file; the message names it. The exit status is that of a usage error."""

    exit_code = 2


class NoSuchNode(InvalidInput):
    """The node does not exist. The message contains the closest name, or the first names."""

    def __init__(self, where: str, name: str, nodes: Sequence[str]) -> None:
        super().__init__(f"{where} has no node {name}; {names_instead(name, nodes)}")


def did_you_mean(name: str, known: Iterable[str], what: str = "") -> str:
    """Return a clause that asks for the closest of these names; empty if none is close."""
    closest = get_close_matches(name, sorted(known), 1)
    return f"; did you mean {what}{closest[0]}?" if closest else ""


def names_instead(name: str, known: Sequence[str]) -> str:
    """Return the closest known name, or the first known names, as text."""
    if question := did_you_mean(name, known):
        return question.removeprefix("; ")
    more = f", and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else ""
    return f"it has {', '.join(known[:MAX_NAMES]) or 'none'}{more}"


def display_name(file: Path) -> str:
    """Return the name of the file for messages."""
    return "standard input" if str(file) == STDIN else str(file)


def require_one_stdin(*files: Path | None) -> None:
    """Raise UsageError if standard input is given for several files."""
    if list(map(str, files)).count(STDIN) > 1:
        raise click.UsageError("only one file can come from standard input")


def read_input(file: Path) -> bytes:
    """Read the file. Raises InvalidInput."""
    try:
        return sys.stdin.buffer.read() if str(file) == STDIN else file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error


# A wheel contains these files in berth_cli/project (see pyproject.toml). A clone uses its own files.
_PACKED = Path(__file__).resolve().parents[1] / "project"
PROJECT = _PACKED if _PACKED.is_dir() else Path(__file__).resolve().parents[3]
