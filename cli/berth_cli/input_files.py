"""Files that commands read; `-` is standard input."""

from __future__ import annotations

import sys
from pathlib import Path

import click

STDIN = "-"


class InvalidInput(click.ClickException):
    """An unusable file; the message names it. The exit status is that of a usage error."""

    exit_code = 2


def display_name(file: Path) -> str:
    """The name of the file in messages."""
    return "standard input" if str(file) == STDIN else str(file)


def read_bytes(file: Path) -> bytes:
    """The content of the file. Raises OSError."""
    return sys.stdin.buffer.read() if str(file) == STDIN else file.read_bytes()


def read_input(file: Path) -> bytes:
    """The same. Raises InvalidInput."""
    try:
        return read_bytes(file)
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
