"""Runs checks: each in a thread of its own, with a time limit, and failing alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread

from berth_cli.doctor.findings import CheckName, Finding, failed

Examine = Callable[[], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """`alone`: it measures time, so nothing else may run beside it."""

    name: CheckName
    examine: Examine
    alone: bool = False


def run(checks: Sequence[Check], timeout: float) -> list[Finding]:
    """The findings in the order of the checks; `timeout` in seconds for each. A check that hangs is left behind."""
    answers: dict[int, list[Finding]] = {}
    together = [each for each in enumerate(checks) if not each[1].alone]
    for stage in (together, *([each] for each in enumerate(checks) if each[1].alone)):
        answers |= _run(stage, timeout)
    return [finding for index in range(len(checks)) for finding in answers[index]]


def _run(checks: Sequence[tuple[int, Check]], timeout: float) -> dict[int, list[Finding]]:
    started = [(index, check, _started(check)) for index, check in checks]
    deadline = time.monotonic() + timeout
    return {index: _answer(check, queue, deadline, timeout) for index, check, queue in started}


def _started(check: Check) -> SimpleQueue[list[Finding]]:
    queue: SimpleQueue[list[Finding]] = SimpleQueue()
    # A daemon: the command ends without waiting for one that hangs.
    Thread(target=lambda: queue.put(_findings(check)), name=check.name, daemon=True).start()
    return queue


def _findings(check: Check) -> list[Finding]:
    try:
        return list(check.examine())
    except Exception as error:
        return [
            failed(check.name, f"the check itself failed: {type(error).__name__}: {error}", "tell Berth's developers")
        ]


def _answer(check: Check, queue: SimpleQueue[list[Finding]], deadline: float, timeout: float) -> list[Finding]:
    try:
        return queue.get(timeout=max(0.0, deadline - time.monotonic()))
    except Empty:
        return [failed(check.name, f"it was not done after {timeout:g} s", "see whether the network lets it through")]
