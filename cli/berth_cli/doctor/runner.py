"""Run checks in threads of their own, each with a time limit and isolated from errors of the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

from berth_cli.doctor.findings import CheckName, Finding, failed, skip_effects

T = TypeVar("T")


class SharedValue(Generic[T]):
    """A value that several checks need: computed by the first of them that asks."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._lock = Lock()
        self._values: list[T] = []

    def __call__(self) -> T:
        with self._lock:
            if not self._values:
                self._values.append(self._compute())
            return self._values[0]


CheckFunction = Callable[[], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """`exclusive`: measures time, so no other check may run at the same time."""

    name: CheckName
    run: CheckFunction
    exclusive: bool = False


def run_checks(checks: Sequence[Check], timeout: float) -> list[Finding]:
    """Run all checks; findings in the order of the checks, with each cause once. `timeout`: seconds for each. A check
    that hangs is abandoned.
    """
    answers: dict[int, list[Finding]] = {}
    together = [each for each in enumerate(checks) if not each[1].exclusive]
    for stage in (together, *([each] for each in enumerate(checks) if each[1].exclusive)):
        answers |= _run(stage, timeout)
    return skip_effects([finding for index in range(len(checks)) for finding in answers[index]])


def _run(checks: Sequence[tuple[int, Check]], timeout: float) -> dict[int, list[Finding]]:
    started = [(index, check, _start(check)) for index, check in checks]
    deadline = time.monotonic() + timeout
    return {index: _await_result(check, queue, deadline, timeout) for index, check, queue in started}


def _start(check: Check) -> SimpleQueue[list[Finding]]:
    queue: SimpleQueue[list[Finding]] = SimpleQueue()
    # A daemon thread: the command does not wait for a check that hangs.
    Thread(target=lambda: queue.put(_findings(check)), name=check.name, daemon=True).start()
    return queue


def _findings(check: Check) -> list[Finding]:
    try:
        return list(check.run())
    except Exception as error:
        return [
            failed(
                check.name,
                f"internal error in this check: {type(error).__name__}: {error}",
                "report it to the Berth project",
            )
        ]


def _await_result(check: Check, queue: SimpleQueue[list[Finding]], deadline: float, timeout: float) -> list[Finding]:
    try:
        return queue.get(timeout=max(0.0, deadline - time.monotonic()))
    except Empty:
        return [failed(check.name, f"no result after {timeout:g} s", "check the network path and firewall rules")]
