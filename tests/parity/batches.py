"""Compares cases in batches and in several processes, each with its own oracle and Berth."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache

from tests.parity.comparison import Comparison, Programs
from tests.parity.coverage import Coverage
from tests.parity.differences import Difference
from tests.parity.generator.cases import cases
from tests.parity.generator.features import Family
from tests.parity.responder import ResponderFailed
from tests.parity.versions import comparable, comparable_differences

SIZE = 200

_RUNNING = ExitStack()
"""The programs that this process started. They end with the process, because their input ends."""


@dataclass(frozen=True)
class Batch:
    """Consecutive cases of a family."""

    programs: Programs
    family: Family
    seed: int
    first: int
    count: int


@dataclass(frozen=True)
class Compared:
    """The result of a batch. differences: by case number, for cases with differences only."""

    coverage: Coverage
    differences: dict[int, list[Difference]]


def batches(programs: Programs, family: Family, seed: int, count: int) -> Iterator[Batch]:
    for first in range(0, count, SIZE):
        yield Batch(programs, family, seed, first, min(SIZE, count - first))


def compared(found: Iterator[Batch]) -> Iterator[Compared]:
    """Yield the results of the batches in order, compared by one process for each processor."""
    with ProcessPoolExecutor() as pool:
        yield from pool.map(compare, found)


def compare(batch: Batch) -> Compared:
    version = batch.programs.version
    drawn = [comparable(each, version) for each in cases(batch.seed, batch.family, batch.count, batch.first)]
    comparison = _comparison(batch.programs)
    try:
        answers = comparison.answers(drawn)
    except ResponderFailed as failure:
        where = f"{batch.family}, in the batch that begins with case {batch.first}"
        raise ResponderFailed(f"{where}: {failure}") from failure
    coverage = Coverage()
    differences = {}
    for number, case, (oracle, berth) in zip(
        range(batch.first, batch.first + batch.count), drawn, answers, strict=True
    ):
        coverage.add(oracle)
        if found := comparable_differences(comparison.differences(batch.family, case, oracle, berth), version):
            differences[number] = found
    return Compared(coverage, differences)


@lru_cache(maxsize=1)
def _comparison(programs: Programs) -> Comparison:
    return _RUNNING.enter_context(programs.running())
