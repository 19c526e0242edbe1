"""The demo's output: coloured tables on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from berth_cli.demo.scheduler import Placement

Occupants = Mapping[str, Sequence[str]]
"""By node or device: the applications or amounts on it."""

_COLOURS = ("cyan", "magenta", "yellow", "green")


def before_and_after_lines(titles: tuple[str, str], before: Occupants, after: Occupants) -> Iterator[str]:
    """Both states side by side, as plain lines."""
    rows = [("", *titles), *((node, *(" ".join(each[node]) for each in (before, after))) for node in before)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def before_and_after_table(titles: tuple[str, str], before: Occupants, after: Occupants) -> Table:
    """Both states side by side, as a table with a colour for each application."""
    applications = list(dict.fromkeys(application for pods in before.values() for application in pods))
    colour = dict(zip(applications, _COLOURS, strict=False))
    found = Table("node", *titles, header_style="dim")
    for node in before:
        found.add_row(node, *(_blocks(each[node], colour) for each in (before, after)))
    return found


def _blocks(applications: Sequence[str], colour: Mapping[str, str]) -> Text:
    blocks = (Text(f" {name} ", style=f"black on {colour.get(name, 'white')}") for name in applications)
    return Text(" ").join(blocks)


class View:
    """Writes to standard output."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def heading(self, title: str) -> None:
        """Print the title of a step."""
        if self._console.is_terminal:
            self._console.print(f"\n{title}", style="bold", highlight=False)
        else:
            print(f"\n== {title}")

    def placement(self, pod: str, priorities: Mapping[str, str | None], placement: Placement) -> None:
        """Print every node with its label, its filter result and score, and mark the chosen node."""
        rows = [
            (name, priority or "-", *_filter_result(name, placement), "<- " + pod if name == placement.node else "")
            for name, priority in priorities.items()
        ]
        if self._console.is_terminal:
            self._table(rows)
        else:
            self._lines(rows)
        if placement.node:
            self.success(f"{pod} runs on {placement.node}")
        else:
            self.pending(f"{pod} is Pending: {placement.event()}")

    def before_and_after(self, titles: tuple[str, str], before: Occupants, after: Occupants) -> None:
        """Print the pods on each node in both states."""
        if self._console.is_terminal:
            self._console.print(before_and_after_table(titles, before, after))
        else:
            for line in before_and_after_lines(titles, before, after):
                print(f"  {line}".rstrip())

    def success(self, line: str) -> None:
        """Print a line about running pods."""
        self._outcome(line, "green")

    def pending(self, line: str) -> None:
        """Print a line about pending pods."""
        self._outcome(line, "yellow")

    def footer(self, line: str) -> None:
        """Print the last line."""
        self._console.print(line, highlight=False)

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        table = Table("node", "priority label", "filter", "score", "", header_style="dim")
        for row in rows:
            table.add_row(*row, style="bold green" if row[-1] else None)
        self._console.print(table)

    def _lines(self, rows: Sequence[Sequence[str]]) -> None:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def _outcome(self, line: str, style: str) -> None:
        if self._console.is_terminal:
            self._console.print(line, style=style, highlight=False)
        else:
            print(f"  {line}")


def _filter_result(name: str, placement: Placement) -> tuple[str, str]:
    if name in placement.reasons:
        return placement.reasons[name], ""
    if name in placement.passed:
        return "passed", str(placement.scores.get(name, ""))
    return "not chosen", ""
