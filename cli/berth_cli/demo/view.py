"""The demo on the screen: a table per pod on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from berth_cli.demo.scheduler import Placement

Occupants = Mapping[str, Sequence[str]]
"""By node, the applications whose pods are on it."""

_COLOURS = ("cyan", "magenta", "yellow", "green")


def before_and_after_lines(titles: tuple[str, str], before: Occupants, after: Occupants) -> Iterator[str]:
    """As text."""
    rows = [("", *titles), *((node, *(" ".join(each[node]) for each in (before, after))) for node in before)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def before_and_after_table(titles: tuple[str, str], before: Occupants, after: Occupants) -> Table:
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


class View:
    """Writes to standard output."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def scene(self, title: str) -> None:
        """What has just been done to the cluster."""
        if self._console.is_terminal:
            self._console.print(f"\n{title}", style="bold", highlight=False)
        else:
            print(f"\n== {title}")

    def placement(self, pod: str, priorities: Mapping[str, str | None], placement: Placement) -> None:
        """Every node with its label, what the extender said of it, and the one the pod went to."""
        rows = [
            (name, priority or "-", *_verdict(name, placement), "<- " + pod if name == placement.node else "")
            for name, priority in priorities.items()
        ]
        if self._console.is_terminal:
            self._table(rows)
        else:
            self._lines(rows)
        if placement.node:
            self.good(f"{pod} runs on {placement.node}")
        else:
            self.bad(f"{pod} is Pending: {placement.event()}")

    def before_and_after(self, titles: tuple[str, str], before: Occupants, after: Occupants) -> None:
        """Where the pods are in either case."""
        if self._console.is_terminal:
            self._console.print(before_and_after_table(titles, before, after))
        else:
            for line in before_and_after_lines(titles, before, after):
                print(f"  {line}".rstrip())

    def good(self, line: str) -> None:
        """What became of pods that run."""
        self._outcome(line, "green")

    def bad(self, line: str) -> None:
        """What became of pods that wait."""
        self._outcome(line, "yellow")

    def closing(self, line: str) -> None:
        """The last word."""
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


def _verdict(name: str, placement: Placement) -> tuple[str, str]:
    if name in placement.reasons:
        return placement.reasons[name], ""
    if name in placement.passed:
        return "passed", str(placement.scores.get(name, ""))
    return "not chosen", ""
