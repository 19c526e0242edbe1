"""`python3 -m tools.lanes change` and `python3 -m tools.lanes nightly`: the two lanes of checks, one list of steps.

A step is a make target. Its output goes to `.build/lanes/LANE/TARGET.log`. Steps that only compute run in the
background while browsers and clusters wait, and two rows of steps with clusters wait beside each other. The lane for
every change shows the output of all but the background and stops at the first failure; the nightly lane goes on. Both
end with a table of times and figures, and exit with 1 if a step failed. Ctrl-C and SIGTERM end the running steps
first, and print the table of what has run. Needs nothing but Python, since it sets up the rest.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import IO

PROJECT = Path(__file__).resolve().parents[1]
LOGS = PROJECT / ".build" / "lanes"

PYTEST = r"\d+ (?:passed|failed|error|skipped)\b.* in [\d.]+s.*"
GANGS = r"gangs: \d+ of \d+ targets met"
COLOUR = r"\x1b\[[\d;]*m"
FIGURE_WIDTH = 100
SHOWN_OF_A_FAILURE = 40
BACKGROUND = ("sh", "-c", '{ echo 19 > /proc/self/autogroup; } 2> /dev/null; exec nice -n 19 "$@"', "background")
"""Linux may share processors by session first: there the priority of a process counts within its session only."""
END_SECONDS = 60
SIGNAL_SECONDS = 1.0
"""How long a step may take to end what it started, before it is killed."""


class Lane(StrEnum):
    """Which of the two."""

    CHANGE = "change"
    NIGHTLY = "nightly"


class Track(StrEnum):
    """What a step runs beside. The steps of a track run in their order, from where the first of them stands."""

    FOREGROUND = "foreground"
    CLUSTERS = "clusters"
    """It has a cluster of its own, and waits for it more than it computes."""
    BACKGROUND = "background"
    """It needs processors and no cluster: at the lowest priority."""
    ALONE = "alone"
    """It measures: it begins when the other tracks have ended, and has nothing beside it."""


BACKGROUND_AT_ONCE = {Lane.CHANGE: 1, Lane.NIGHTLY: 2}
"""Most of a night's steps use one processor. Those of a change are few, and have the time in which clusters wait."""


class Result(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Step:
    """A make target, with its variables in each lane; None: the lane is without it.

    `figure`: a regular expression for what the table shows of its output: all its matches. Without one it shows the
    last line.
    """

    target: str
    change: str | None = ""
    nightly: str | None = ""
    figure: str = ""
    track: Track = Track.FOREGROUND

    def command(self, lane: Lane) -> list[str] | None:
        """What make is given, or None."""
        variables = self.change if lane is Lane.CHANGE else self.nightly
        return None if variables is None else [self.target, *variables.split()]


STEPS = (
    Step("tools"),
    Step("lint", figure=r"no issues found in \d+ source files"),
    Step("test", figure=PYTEST),
    # The first in the background, and the first of the second row of clusters: these tracks begin here.
    Step("spec", figure=r"\d+ configurations, \d+ s", track=Track.BACKGROUND),
    Step(
        "versions",
        change=None,
        figure=rf"{PYTEST}|{GANGS}|\w+: \d+ of \d+ cases differ|facts of .*",
        track=Track.CLUSTERS,
    ),
    Step("console-check", figure=r"# (?:pass|fail) \d+|.*SKIPPED.*"),
    Step("chromium"),
    Step("console-test", figure=PYTEST),
    Step("test-external", nightly="GANG_COMMIT=every-write", figure=PYTEST),
    Step("test-long", figure=PYTEST),
    Step("demo"),
    Step("docs", figure="Documentation built in .*"),
    Step("validate", figure="is a valid SAM Template"),
    Step("scan"),
    Step("build", figure=PYTEST),
    Step("wheel", change=None),
    Step("sbom", change=None),
    Step("audit", change=None, figure=r"audit of what is locked: .*"),
    Step("spec-large", change=None, figure=r"\d+ configurations, \d+ s", track=Track.BACKGROUND),
    Step(
        "simulation",
        change="N=200 RULES=200",
        nightly=None,
        figure=r"\d+ binds cut short.*|.* rules about pods, .*",
        track=Track.BACKGROUND,
    ),
    Step(
        "soak",
        change=None,
        nightly="N=2000 BINDS=60000 MEMBERS=1000 EACH=2",
        figure=r"\d+ binds by .*",
        track=Track.BACKGROUND,
    ),
    # The memory stays the same from some hundred shapes on. SHAPES=3600 is an hour of one pod a second.
    Step("soak-verbs", change=None, nightly="SHAPES=1200", figure=r"\w+: peak \d+ MB", track=Track.BACKGROUND),
    Step("fuzz-pods", change=None, figure=r"\w+: slowest [^;]*", track=Track.BACKGROUND),
    Step(
        "parity",
        change="N=1000 LEAST=250",
        nightly="N=20000 LEAST=5000",
        figure=r"\w+: \d+ of \d+ cases differ",
        track=Track.BACKGROUND,
    ),
    Step("e2e-core", nightly=None, figure=PYTEST),
    Step("e2e", change=None, nightly="REPEAT=20 TARGETS=1", figure=rf"{PYTEST}|{GANGS}"),
    Step(
        "chaos",
        # In this order seed 0 begins with the losses of the head and of the cache, which take the longest.
        change="ONLY=api-faults,watches-expired,clock-ahead,head-lost,both-berths-frozen,cache-emptied WITHIN=90",
        # Every fault twice: once would follow the same fault all night, four times took more than an hour.
        nightly="SEED=today ROUNDS=70",
        figure=r"\d+ rounds, \d+ broken",
        track=Track.CLUSTERS,
    ),
    # So many pods a second: not in the background, where it falls behind and catches up.
    Step("soak-serve", change=None, figure=r"growth after .*", track=Track.CLUSTERS),
    Step("sam-local-core", nightly=None),
    Step("sam-local", change=None),
    Step("image", change=None, figure=r"built .*|image .* passed"),
    Step("bench-guard", figure=r"guard: .*", track=Track.ALONE),
    Step("bench-replay", change=None, figure=r"replay\.\S+seconds +\S+ s/day", track=Track.ALONE),
    Step(
        "bench-console",
        change=None,
        nightly="MOST_PAINT=1000 MOST_FRAME=17",
        figure=r".*(?:paint|frames).*",
        track=Track.ALONE,
    ),
    Step("bench", change=None, track=Track.ALONE),
    # The FROM of `make nightly` is a step, and make hands it on.
    Step("bench-scheduler", change=None, nightly="SMALL=1 FROM=", figure=r"\d+ +\S+ +[\d.]+", track=Track.ALONE),
)


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step that has run. `seconds` of wall time."""

    command: str
    result: Result
    seconds: float
    figure: str


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


def steps_from(first: str | None) -> list[Step]:
    """The steps, without those before the one with this target."""
    targets = [step.target for step in STEPS]
    return list(STEPS[targets.index(first) if first else 0 :])


def run(
    lane: Lane, steps: Iterable[Step], logs: Path, interrupts: Interrupts, *, make: Sequence[str] = ("make",)
) -> list[FinishedStep]:
    """Run the lane's steps: a change stops at the first failure. Returns those that have run, in the lane's order."""
    having = [step for step in steps if step.command(lane) is not None]
    running = LaneRun(lane, having, logs, make)
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

    def __init__(self, lane: Lane, steps: Sequence[Step], logs: Path, make: Sequence[str]) -> None:
        self._lane = lane
        self._steps = steps
        self._logs = logs
        self._make = make
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


def figure(step: Step, output: str) -> str:
    """What the table shows of a step's output."""
    output = re.sub(COLOUR, "", output)
    if step.figure:
        return "; ".join(found.strip("= ") for found in re.findall(step.figure, output))[:FIGURE_WIDTH]
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("make")]
    return lines[-1][:FIGURE_WIDTH] if lines else ""


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
        f"{step.command:<{width}}  {step.result:<11}  {step.seconds:>6.0f} s  {step.figure}".rstrip() for step in ended
    ]
    failed = sum(step.result is not Result.PASSED for step in ended)
    lines.append(f"{'together':<{width}}  {'':<11}  {seconds:>6.0f} s")
    return "\n".join([*lines, f"steps: {len(ended) - failed} passed, {failed} failed"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 if all steps of the lane have passed, 1 if one failed, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="lanes", description="Run a lane of checks.")
    parser.add_argument("lane", type=Lane, choices=list(Lane), metavar="change|nightly")
    parser.add_argument(
        "--from",
        dest="first",
        choices=[step.target for step in STEPS],
        metavar="STEP",
        help="begin with this step, to continue a lane that was interrupted",
    )
    options = parser.parse_args(arguments)
    lane: Lane = options.lane
    interrupts = Interrupts()
    interrupts.handle()
    started = time.monotonic()
    ended = run(lane, steps_from(options.first), LOGS / lane, interrupts)
    print(f"\n{table(ended, time.monotonic() - started)}")
    return 130 if interrupts.is_interrupted else int(any(step.result is not Result.PASSED for step in ended))


if __name__ == "__main__":
    sys.exit(main())
