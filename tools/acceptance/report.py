"""The steps of a run, and the report: one Markdown document for an issue, without account, host or secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

_PRIVATE = (
    (re.compile(r"(?<![0-9])[0-9]{12}(?![0-9])"), "ACCOUNT"),
    (re.compile(r"\b[a-z0-9]{8,12}(?=\.execute-api\.)"), "API"),
    (re.compile(r"\b[0-9A-F]{32}(?=\.)"), "CLUSTER"),
)

PRIVATE = (
    "AlarmTopic",
    "BinderKubeconfig",
    "Domain",
    "Eks",
    "Key",
    "Permissions",
    "PluginLayer",
    "TruststoreUri",
    "Vpc",
    "WatcherKubeconfig",
)
"""The prefixes of parameters whose values are not published."""

SHORT = 6
"""The length below which a value is hidden only as a whole word: it may be a part of other words."""


class Result(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class StepFailed(Exception):
    """The step failed. The message states the cause and the remedy. `lines`: further lines of the report."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = tuple(lines)


class StepSkipped(Exception):
    """The step does not apply; the message states why."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the run. `always`: whether it also runs after a failure. `execute` returns lines of Markdown."""

    name: str
    execute: Callable[[], Sequence[str]]
    always: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    name: str
    result: Result
    seconds: float
    lines: tuple[str, ...] = ()


def run(steps: Sequence[Step], clock: Callable[[], float], begin: Callable[[str], None]) -> Iterator[Ended]:
    """Run the steps; after the first failure or Ctrl-C, only those with `always`. `begin` gets each step's name."""
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
    except Exception as error:  # the stack must be deleted even then
        return Result.FAILED, (f"{type(error).__name__}: {error}",)


def markdown(title: str, facts: Sequence[str], ended: Sequence[Ended], private: Mapping[str, str]) -> str:
    """Return the whole report. `facts`: paragraphs. `private`: the names that replace values that are not published."""
    lines = [f"# {title}", "", f"**{_verdict(ended)}**"]
    lines += [line for fact in facts for line in ("", fact)]
    lines += ["", "| step | result | seconds |", "| --- | --- | --- |"]
    lines += [f"| {each.name} | {each.result} | {each.seconds:.0f} |" for each in ended]
    for each in ended:
        if each.lines:
            lines += ["", f"## {each.name}", "", *each.lines]
    return redacted("\n".join(lines) + "\n", private)


def _verdict(ended: Sequence[Ended]) -> str:
    failed = [each.name for each in ended if each.result in (Result.FAILED, Result.INTERRUPTED)]
    if failed:
        return f"Failed at: {', '.join(failed)}."
    skipped = [each.name for each in ended if each.result is Result.SKIPPED]
    return f"No step failed. Skipped: {', '.join(skipped)}." if skipped else "Every step passed."


def private_values(parameters: Mapping[str, str]) -> Mapping[str, str]:
    """Map each value that is not published to the parameter's name. For a list, also map each item."""
    given = {name: value for name, value in parameters.items() if name.startswith(PRIVATE) and value}
    return {part: name for name, value in given.items() for part in (value, *filter(None, value.split(",")))}


def redacted(text: str, private: Mapping[str, str] = {}) -> str:
    """Hide account numbers, endpoint names and private values, because reports are public."""
    for value in sorted(private, key=len, reverse=True):
        pattern = re.escape(value)
        if len(value) < SHORT:
            pattern = rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
        text = re.sub(pattern, private[value], text)
    for shape, name in _PRIVATE:
        text = shape.sub(name, text)
    return text
