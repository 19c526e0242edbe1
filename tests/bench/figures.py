"""Figures of benchmarks, their measurement and their output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure. `name` stays the same in all releases; `target` is None if the figure only informs."""

    name: str
    value: float
    unit: str
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one measurement. All their names begin with `name`."""

    name: str
    measure: Callable[[], Iterator[Figure]]

    def figures(self, prefix: str) -> Iterator[Figure]:
        """Yield the figures whose names begin with the prefix. Does not measure if no name can match."""
        if self.name.startswith(prefix) or prefix.startswith(self.name):
            yield from (figure for figure in self.measure() if figure.name.startswith(prefix))


@dataclass(frozen=True, slots=True)
class Timed:
    """A measured call, and its preparation, which is not measured."""

    call: Callable[[], object]
    prepare: Callable[[], object] = int


def milliseconds(*timed: Timed, seconds: float = 0.7) -> list[float]:
    """Return the median time of each call after a warm-up; the calls alternate, so that a busy machine slows all alike.

    The time is the thread's processor time, which does not include other work on the machine.
    """
    times: list[list[float]] = [[] for _ in timed]
    for each in timed:
        each.prepare()
        each.call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for each, taken in zip(timed, times, strict=True):
            each.prepare()
            started = time.thread_time()
            each.call()
            taken.append(time.thread_time() - started)
    return [median(taken) * 1000 for taken in times]


def beside_floor(name: str, floor: Timed, timed: Timed, target: float | None = None) -> Iterator[Figure]:
    """Yield the time of a call, the time of its baseline, and their ratio, which has the target."""
    least, taken = milliseconds(floor, timed)
    yield Figure(f"{name}.floor", least, "ms")
    yield Figure(name, taken, "ms")
    yield Figure(f"{name}.ratio", taken / least, "x", target)


def shown(figure: Figure) -> str:
    target = "" if figure.target is None else f"   (target {figure.target:g})"
    return f"{figure.name:<52}{figure.value:>10.3f} {figure.unit}{target}"
