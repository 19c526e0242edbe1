"""Output of commands: the option -o (a table for users, JSON or YAML for programs), and durations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import click
import orjson
import yaml

MAX_RICH_ROWS = 500
"""The maximum number of rows that rich formats, which takes about 2 ms for each row."""

F = TypeVar("F", bound=Callable[..., Any])


MAX_EXAMPLES = 3


class Format(StrEnum):
    """The values of `-o`."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def output_option(*more: str) -> Callable[[F], F]:
    """Add -o. The command gets a `str` that is a Format. `more`: values that only this command has."""
    return click.option(
        "-o", "--output", type=click.Choice([*map(str, Format), *more]), default=str(Format.TABLE), show_default=True
    )


def render(content: object, output: str) -> str:
    """Return the content as YAML if `output` is yaml, otherwise as JSON."""
    text = orjson.dumps(content, option=orjson.OPT_INDENT_2).decode()
    return to_yaml(text) if output == Format.YAML else text


def echo_warnings(warnings: Iterable[str]) -> None:
    """Print warnings to standard error, one per line."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def echo_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns. On a terminal, long cells are wrapped; in a pipe, each row is one line."""
    cells = [header, *rows]
    if sys.stdout.isatty() and len(cells) <= MAX_RICH_ROWS:
        # Imported here: not needed in a pipe.
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*header, box=None, pad_edge=False, header_style="bold")
        for row in cells[1:]:
            table.add_row(*map(Text, row))
        Console().print(table)
        return
    click.echo("\n".join(table_lines(cells)))


def to_yaml(json_text: str | bytes) -> str:
    """Convert JSON to YAML, with the keys in the same order."""
    text: str = yaml.safe_dump(orjson.loads(json_text), sort_keys=False, allow_unicode=True, width=120)
    return text.removesuffix("\n")


def table_lines(rows: Sequence[Sequence[str]], indent: str = "") -> Iterator[str]:
    """Yield the rows of a table as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()


def examples(nodes: Sequence[str], count: int | None = None) -> str:
    """Return the names of the first nodes. count: the total number; by default the number of `nodes`."""
    shown = ", ".join(nodes[:MAX_EXAMPLES])
    more = (len(nodes) if count is None else count) - len(nodes[:MAX_EXAMPLES])
    if not shown:
        return ""
    return f"{shown} and {more} more" if more > 0 else shown


def duration(seconds: float) -> str:
    """Format the duration in the largest unit with a value of at least 1."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def shown_age(seconds: float) -> str:
    """Format the age as kubectl does, for example `5m`."""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0, seconds):.0f}s"
