"""The steps of a run: each ends with a result and lines for the report; a failed step ends the run but for its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class StepFailed(Exception):
    """The message names cause and remedy. `lines`: more for the report, in Markdown."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = tuple(lines)


class StepSkipped(Exception):
    """The step has nothing to do; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """`always`: it runs after a failure too. `execute` returns lines for the report, in Markdown."""

    name: str
    execute: Callable[[], Sequence[str]]
    always: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """A step that has run."""

    name: str
    result: Result
    seconds: float
    lines: tuple[str, ...] = ()


def run(steps: Sequence[Step], clock: Callable[[], float], begin: Callable[[str], None]) -> Iterator[Ended]:
    """Run the steps. After the first failure or Ctrl-C only those that always run. `begin`: gets each step's name."""
    going = True
    for step in steps:
        if not (going or step.always):
            yield Ended(step.name, Result.SKIPPED, 0.0, ("an earlier step failed",))
            continue
        begin(step.name)
        started = clock()
        result, lines = _execute(step)
        yield Ended(step.name, result, clock() - started, lines)
        going = going and result in (Result.PASSED, Result.SKIPPED)


def _execute(step: Step) -> tuple[Result, tuple[str, ...]]:
    try:
        return Result.PASSED, tuple(step.execute())
    except StepSkipped as reason:
        return Result.SKIPPED, (str(reason),)
    except StepFailed as error:
        return Result.FAILED, (str(error), *error.lines)
    except KeyboardInterrupt:
        return Result.INTERRUPTED, ("Ctrl-C",)
    except Exception as error:  # the stack has to be deleted whatever happens
        return Result.FAILED, (f"{type(error).__name__}: {error}",)
