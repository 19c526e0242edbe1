"""Comparing many cases: in batches, and in several processes, each with an oracle and a Berth of its own."""

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

SIZE = 200

_RUNNING = ExitStack()
"""The programs of this process. They end with it, as their input ends."""


@dataclass(frozen=True)
class Batch:
    """Some consecutive cases of a family. with_forms: forms of the model are counted, too."""

    programs: Programs
    family: Family
    seed: int
    first: int
    count: int
    with_forms: bool = False


@dataclass(frozen=True)
class Compared:
    """What a batch comes to; differences are by the case's number, of the cases that differ."""

    coverage: Coverage
    differences: dict[int, list[Difference]]


def batches(programs: Programs, family: Family, seed: int, count: int, *, with_forms: bool) -> Iterator[Batch]:
    """The first `count` cases of a family."""
    for first in range(0, count, SIZE):
        yield Batch(programs, family, seed, first, min(SIZE, count - first), with_forms)


def compared(found: Iterator[Batch], jobs: int) -> Iterator[Compared]:
    """The batches in their order, `jobs` of them under way at a time."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(compare, found)


def compare(batch: Batch) -> Compared:
    """One batch, here."""
    drawn = list(cases(batch.seed, batch.family, batch.count, batch.first))
    comparison = _comparison(batch.programs)
    try:
        answers = comparison.answers(drawn)
    except ResponderFailed as failure:
        where = f"{batch.family}, in the batch that begins with case {batch.first}"
        raise ResponderFailed(f"{where}: {failure}") from failure
    coverage = Coverage(with_forms=batch.with_forms)
    differences = {}
    for number, case, (oracle, berth) in zip(
        range(batch.first, batch.first + batch.count), drawn, answers, strict=True
    ):
        coverage.add(case, oracle)
        if found := comparison.differences(batch.family, case, oracle, berth):
            differences[number] = found
    return Compared(coverage, differences)


@lru_cache(maxsize=1)
def _comparison(programs: Programs) -> Comparison:
    return _RUNNING.enter_context(programs.running())
