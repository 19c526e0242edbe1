"""A figure of a benchmark, and how figures are shown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """`name` stays the same over releases. `target` is None where the figure only informs."""

    name: str
    value: float
    unit: str
    target: float | None = None


def milliseconds(*calls: Callable[[], object], seconds: float = 1.0) -> list[float]:
    """The median time of each call, after a warm-up; by turns, so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for call, taken in zip(calls, times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return [median(taken) * 1000 for taken in times]


def show(figures: Iterable[Figure], output: str) -> None:
    """One line a figure, as JSON or for reading."""
    for figure in figures:
        if output == "json":
            print(json.dumps(asdict(figure)), flush=True)
        else:
            target = "" if figure.target is None else f"   (target {figure.target:g})"
            print(f"{figure.name:<44}{figure.value:>10.3f} {figure.unit}{target}", flush=True)
