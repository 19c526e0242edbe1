"""A failed step ends a run, but the stack is deleted and the report written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import pytest

from tools.acceptance.report import Ended, Result, Step, StepFailed, StepSkipped, run


def passing() -> Sequence[str]:
    return ["done"]


def raising(error: BaseException) -> Callable[[], Sequence[str]]:
    def execute() -> Sequence[str]:
        raise error

    return execute


def results(*steps: Step) -> list[Ended]:
    ticks = count()
    return list(run(steps, lambda: float(next(ticks)), lambda _: None))


@pytest.mark.parametrize(
    ("error", "result", "line"),
    [
        pytest.param(StepFailed("cause; remedy"), Result.FAILED, "cause; remedy", id="an expected failure"),
        pytest.param(ValueError("odd"), Result.FAILED, "ValueError: odd", id="an unexpected one"),
        pytest.param(KeyboardInterrupt(), Result.INTERRUPTED, "Ctrl-C", id="Ctrl-C"),
    ],
)
def test_only_steps_that_always_run_follow_a_failure(error: BaseException, result: Result, line: str) -> None:
    first, second, last = results(Step("a", raising(error)), Step("b", passing), Step("deletion", passing, always=True))
    assert (first.result, first.lines) == (result, (line,))
    assert (second.result, last.result) == (Result.SKIPPED, Result.PASSED)


def test_a_skipped_step_ends_nothing() -> None:
    first, second = results(Step("a", raising(StepSkipped("no kubeconfig"))), Step("b", passing))
    assert (first.result, first.lines) == (Result.SKIPPED, ("no kubeconfig",))
    assert second == Ended("b", Result.PASSED, 1.0, ("done",))


def test_a_failure_of_a_step_that_always_runs_is_reported() -> None:
    [last] = results(Step("deletion", raising(StepFailed("delete it by hand")), always=True))
    assert last.result is Result.FAILED
