"""Runs the steps of a lane, on tracks beside each other, and ends them on Ctrl-C and SIGTERM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import IO

from tools.lanes.steps import PROJECT, Lane, Step, Track, figure

SHOWN_OF_A_FAILURE = 40
BACKGROUND = ("sh", "-c", '{ echo 19 > /proc/self/autogroup; } 2> /dev/null; exec nice -n 19 "$@"', "background")
"""Linux may share processors by session first: there the priority of a process counts within its session only."""
END_SECONDS = 60
"""How long a step may take to end what it started, before it is killed."""
SIGNAL_SECONDS = 1.0

BACKGROUND_AT_ONCE = {Lane.CHANGE: 1, Lane.NIGHTLY: 2}
"""Most of a night's steps use one processor. Those of a change end while its clusters wait, one after another."""


class Result(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step that has run. `seconds` of wall time. `at`: when it ended, if it was before this run."""

    command: str
    result: Result
    seconds: float
    figure: str
    at: str = ""


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM has come."""


class Interrupts:
    """Ctrl-C and SIGTERM. They raise Interrupted inside `raising` only; one that comes elsewhere waits for it.

    So none gets lost while a step starts, when there is nothing to end yet.
    """

    def __init__(self) -> None:
        self._is_interrupted = self._raises = False

    def handle(self) -> None:
        """From now on. A shell has its background jobs ignore Ctrl-C, and their children too; a handler ends both."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._handler)

    @property
    def is_interrupted(self) -> bool:
        """Whether one has come already."""
        return self._is_interrupted

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Where an interrupt may raise."""
        self._raises = True
        try:
            if self._is_interrupted:
                raise Interrupted
            yield
        finally:
            self._raises = False

    def _handler(self, *_: object) -> None:
        self._is_interrupted = True
        if self._raises:
            raise Interrupted


def run(
    lane: Lane,
    steps: Iterable[Step],
    logs: Path,
    interrupts: Interrupts,
    *,
    make: Sequence[str] = ("make",),
    keep: Callable[[FinishedStep], None] = lambda ended: None,
) -> list[FinishedStep]:
    """Run the lane's steps: a change stops at the first failure. Returns those that have run, in the lane's order.

    keep: gets each step when it has ended, from any thread, one at a time.
    """
    having = [step for step in steps if step.command(lane) is not None]
    running = LaneRun(lane, having, logs, make, keep)
    if interrupts.is_interrupted:
        running.interrupt()
    at_once = {Track.CLUSTERS: 1, Track.BACKGROUND: BACKGROUND_AT_ONCE[lane]}
    with ThreadPoolExecutor(max_workers=1 + sum(at_once.values())) as threads:
        foreground = threads.submit(_foreground, having, running, threads, at_once)
        try:
            with interrupts.raising():
                # With a timeout: Python handles a signal that comes right before a wait only when the wait ends.
                while wait([foreground], timeout=SIGNAL_SECONDS).not_done:
                    pass
        except Interrupted:
            running.interrupt()
        foreground.result()
    return running.ended()


def _foreground(
    steps: Sequence[Step], running: LaneRun, threads: ThreadPoolExecutor, at_once: Mapping[Track, int]
) -> None:
    """at_once: how many steps of a track run at once beside the foreground."""
    beside: dict[Track, list[Future[None]]] = {}
    for step in steps:
        if step.track in at_once:
            if step.track not in beside:
                left = iter([each for each in steps if each.track is step.track])
                beside[step.track] = [
                    threads.submit(_one_after_another, left, running) for _ in range(at_once[step.track])
                ]
            continue
        if step.track is Track.ALONE:
            _wait_for(beside)
        running.run(step)
        if running.is_over:
            break
    _wait_for(beside)


def _wait_for(beside: Mapping[Track, Iterable[Future[None]]]) -> None:
    for thread in chain.from_iterable(beside.values()):
        thread.result()


def _one_after_another(steps: Iterator[Step], running: LaneRun) -> None:
    """Those of the steps that no other thread takes."""
    for step in steps:
        running.run(step)
        if running.is_over:
            break


class LaneRun:
    """What runs of a lane, and what has run. Threads run the tracks; any thread interrupts them all."""

    def __init__(
        self,
        lane: Lane,
        steps: Sequence[Step],
        logs: Path,
        make: Sequence[str],
        keep: Callable[[FinishedStep], None],
    ) -> None:
        self._lane = lane
        self._steps = steps
        self._logs = logs
        self._make = make
        self._keep = keep
        self._lock = threading.Lock()
        self._interrupted = threading.Event()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ended: dict[int, FinishedStep] = {}

    @property
    def is_over(self) -> bool:
        """Whether no further step begins."""
        return self._interrupted.is_set()

    def run(self, step: Step) -> None:
        """Run a step to its end, or until it is interrupted. In the lane of a change its failure ends the step beside
        it, and the lane."""
        number = next(
            number for number, each in enumerate(self._steps, 1) if each is step and number not in self._ended
        )
        command = step.command(self._lane) or []
        _print(f"== {number}/{len(self._steps)} make {' '.join(command)}")
        log = self._logs / f"{step.target}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        priority = BACKGROUND if step.track is Track.BACKGROUND else ()
        is_shown = self._lane is Lane.CHANGE and not priority
        result = self._result([*priority, *self._make, *command], log, is_shown)
        seconds = time.monotonic() - started
        ended = FinishedStep(" ".join(command), result, seconds, figure(step, log.read_text(errors="replace")))
        self._ended[number] = ended
        with self._lock:
            self._keep(ended)
        _print(f"== make {ended.command}: {result}, {seconds:.0f} s  {ended.figure}")
        if result is Result.FAILED and not is_shown:
            _print_tail(log)
        if result is Result.FAILED and self._lane is Lane.CHANGE:
            self.interrupt()

    def interrupt(self) -> None:
        """End what runs; what would run next ends before it begins."""
        with self._lock:
            self._interrupted.set()
            running = list(self._processes)
        for process in running:
            _end(process)

    def ended(self) -> list[FinishedStep]:
        """In the order of the lane's steps."""
        return [ended for _, ended in sorted(self._ended.items())]

    def _result(self, command: list[str], log: Path, is_shown: bool) -> Result:
        with log.open("wb", buffering=0) as output:
            with self._lock:
                if self._interrupted.is_set():
                    return Result.INTERRUPTED
                # A session of its own: what ends it reaches the whole step, and Ctrl-C comes through this process only.
                process = subprocess.Popen(
                    command,
                    cwd=PROJECT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._processes.append(process)
            assert process.stdout is not None
            _copy(process.stdout, output, shown=is_shown)
            failed = process.wait()
            with self._lock:
                self._processes.remove(process)
        if self._interrupted.is_set():
            return Result.INTERRUPTED
        return Result.FAILED if failed else Result.PASSED


def _copy(source: IO[bytes], log: IO[bytes], *, shown: bool) -> None:
    for line in source:
        log.write(line)
        if shown:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ctrl-C for the whole step, and no more patience than needed. Its thread reads what it writes until then."""
    for end in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, end)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
            return


def _print_tail(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    _print("\n".join([*(f"   {line}" for line in lines[-SHOWN_OF_A_FAILURE:]), f"   all of it: {log}"]))


def _print(text: str) -> None:
    """In one piece, since two threads print."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(ended: Sequence[FinishedStep], seconds: float) -> str:
    """One line a step, and two closing lines. `seconds`: wall time of all; steps may have run beside each other."""
    width = max((len(step.command) for step in ended), default=0)
    lines = [
        f"{step.command:<{width}}  {step.result:<11}  {step.seconds:>6.0f} s  {step.figure}".rstrip()
        + (f"  ({step.at})" if step.at else "")
        for step in ended
    ]
    failed = sum(step.result is not Result.PASSED for step in ended)
    lines.append(f"{'together':<{width}}  {'':<11}  {seconds:>6.0f} s")
    return "\n".join([*lines, f"steps: {len(ended) - failed} passed, {failed} failed"])
