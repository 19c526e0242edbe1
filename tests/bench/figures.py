"""Figures of benchmarks, their measurement and their output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

SECONDS = 0.7


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `name` stays the same over releases."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one measurement. All their names begin with `name`."""

    name: str
    measure: Callable[[], Iterator[Figure]]

    def figures(self, prefix: str) -> Iterator[Figure]:
        """The figures whose names begin with the prefix. Measures nothing if no name can match."""
        if self.name.startswith(prefix) or prefix.startswith(self.name):
            yield from (figure for figure in self.measure() if figure.name.startswith(prefix))


def milliseconds(call: Callable[[], object], prepare: Callable[[], object] | None = None) -> float:
    """The median time of a call, after a warm-up. prepare: before each call, and not measured.

    It is the thread's time on the processor: what others do meanwhile is no part of it.
    """
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(taken) <= 5:
        if prepare is not None:
            prepare()
        started = time.thread_time()
        call()
        taken.append(time.thread_time() - started)
    return median(taken[1:]) * 1000


def shown(figure: Figure) -> str:
    return f"{figure.name:<52}{figure.value:>10.3f} {figure.unit}"
