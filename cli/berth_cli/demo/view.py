"""The demo on the screen: a table per pod on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from berth_cli.demo.scheduler import Placement


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
        outcome = f"{pod} runs on {placement.node}" if placement.node else f"{pod} is Pending: {placement.event()}"
        if self._console.is_terminal:
            self._table(rows, outcome, placed=bool(placement.node))
        else:
            self._lines(rows, outcome)

    def closing(self, line: str) -> None:
        """The last word."""
        self._console.print(line, highlight=False)

    def _table(self, rows: Sequence[Sequence[str]], outcome: str, placed: bool) -> None:
        table = Table("node", "priority label", "filter", "score", "", header_style="dim")
        for row in rows:
            table.add_row(*row, style="bold green" if row[-1] else None)
        self._console.print(table)
        self._console.print(outcome, style="green" if placed else "yellow", highlight=False)

    def _lines(self, rows: Sequence[Sequence[str]], outcome: str) -> None:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        print(f"  {outcome}")


def _verdict(name: str, placement: Placement) -> tuple[str, str]:
    if name in placement.reasons:
        return placement.reasons[name], ""
    if name in placement.passed:
        return "passed", str(placement.scores.get(name, ""))
    return "not chosen", ""
