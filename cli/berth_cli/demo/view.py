"""The demo's output, colored on a terminal, and the dump that its server reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
from rich.console import Console

from berth_cli.demo.extender import Placement
from berth_cli.terminal.output import table_lines

Occupants = Mapping[str, Sequence[str]]
"""Maps a node or device to the applications or amounts on it."""


def heading(title: str) -> None:
    """Print the title of a step."""
    _print(f"\n== {title}", "bold")


def placement(pod: str, priorities: Mapping[str, str | None], placed: Placement) -> None:
    """Print every node with its label, its filter result and score, and mark the chosen node."""
    rows = [
        (name, priority or "-", *_filter_result(name, placed), "<- " + pod if name == placed.node else "")
        for name, priority in priorities.items()
    ]
    _table([("NODE", "LABEL", "FILTER", "SCORE", ""), *rows])
    if placed.node:
        success(f"{pod} runs on {placed.node}")
    else:
        pending(f"{pod} is Pending: {placed.event()}")


def before_and_after(titles: tuple[str, str], before: Occupants, after: Occupants) -> None:
    """Print the pods on each node in both states."""
    _table([("", *titles), *((node, " ".join(before[node]), " ".join(after[node])) for node in before)])


def success(line: str) -> None:
    """Print a line about running pods."""
    _print(f"  {line}", "green")


def pending(line: str) -> None:
    """Print a line about pending pods."""
    _print(f"  {line}", "yellow")


def _table(rows: Sequence[Sequence[str]]) -> None:
    for line in table_lines(rows, "  "):
        _print(line)


def _print(line: str, style: str | None = None) -> None:
    Console().print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _filter_result(name: str, placement: Placement) -> tuple[str, str]:
    if name in placement.reasons:
        return placement.reasons[name], ""
    if name in placement.passed:
        return "passed", str(placement.scores.get(name, ""))
    return "not chosen", ""


def write_dump(path: Path, items: Sequence[Mapping[str, object]]) -> None:
    """Write the file atomically, so that the watcher never reads a partial file."""
    temporary = path.with_suffix(".new")
    temporary.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    os.replace(temporary, path)
