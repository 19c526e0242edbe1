"""A cluster before and after: a line for each node, with the pods on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

Occupants = Mapping[str, Sequence[str]]
"""By node, the applications whose pods are on it."""

_COLOURS = ("cyan", "magenta", "yellow", "green")


def lines(titles: tuple[str, str], before: Occupants, after: Occupants) -> Iterator[str]:
    """As text."""
    rows = [("", *titles), *((node, *(" ".join(each[node]) for each in (before, after))) for node in before)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def table(titles: tuple[str, str], before: Occupants, after: Occupants) -> Table:
    """In colours, one for each application."""
    applications = list(dict.fromkeys(application for pods in before.values() for application in pods))
    colour = dict(zip(applications, _COLOURS, strict=False))
    found = Table("node", *titles, header_style="dim")
    for node in before:
        found.add_row(node, *(_blocks(each[node], colour) for each in (before, after)))
    return found


def _blocks(applications: Sequence[str], colour: Mapping[str, str]) -> Text:
    blocks = (Text(f" {name} ", style=f"black on {colour.get(name, 'white')}") for name in applications)
    return Text(" ").join(blocks)
