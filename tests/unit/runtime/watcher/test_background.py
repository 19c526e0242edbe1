"""Steps in a thread of their own."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from berth.runtime.watcher.background import BackgroundSteps

SECONDS = 10.0
"""Only a failing test waits so long."""


class Work:
    """Says when it runs, and ends when it is let."""

    def __init__(self) -> None:
        self.runs = Event()
        self.let = Event()
        self.count = 0

    def step(self) -> float:
        self.count += 1
        self.runs.set()
        assert self.let.wait(SECONDS)
        return 3600.0


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def steps(work: Work) -> Iterator[BackgroundSteps]:
    found = BackgroundSteps(work.step, "test", "nothing was done")
    yield found
    work.let.set()
    found.close()


def test_publication_does_not_wait_for_the_step(work: Work, steps: BackgroundSteps) -> None:
    steps.published()
    assert work.runs.wait(SECONDS)


def test_next_step_runs_soon_after_it_is_requested(work: Work, steps: BackgroundSteps) -> None:
    work.let.set()
    steps.published()
    assert work.runs.wait(SECONDS)
    work.runs.clear()
    steps.run_soon()
    assert work.runs.wait(SECONDS)


def test_step_requested_during_another_step_runs_afterwards(work: Work, steps: BackgroundSteps) -> None:
    steps.published()
    assert work.runs.wait(SECONDS)
    work.runs.clear()
    for _ in range(3):
        steps.run_soon()
    work.let.set()
    assert work.runs.wait(SECONDS)


def test_close_ends_a_long_wait(work: Work, steps: BackgroundSteps) -> None:
    work.let.set()
    steps.published()
    assert work.runs.wait(SECONDS)
    steps.close()
    steps.run_soon()
    assert work.count == 1


def test_run_that_publishes_only_once_performs_the_step_immediately(work: Work) -> None:
    work.let.set()
    steps = BackgroundSteps(work.step, "test", "nothing was done", once=True)
    steps.published()
    assert work.count == 1
    steps.close()
