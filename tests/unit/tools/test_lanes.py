"""The lanes of checks: which steps they have, when they stop, and what their table says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults.every_fault import FAULTS
from tests.chaos.rounds import deck
from tests.e2e.gangs.pod_groups import NATIVE
from tools.lanes.lane_run import FinishedStep, Interrupts, Result, run, table
from tools.lanes.steps import PROJECT, PYTEST, STEPS, Lane, Step, Track, figure, steps_from

# Stands for make: each target is a line of shell.
MAKE = ("sh", "-c", 'case $0 in good) echo "7 things";; bad) echo broken; exit 3;; *) echo "$0 $*";; esac')
GOOD, BAD = Step("good"), Step("bad")


@pytest.fixture(autouse=True)
def handled_signals() -> Iterator[None]:
    """As the lane's own handlers do: a step must not ignore Ctrl-C because the shell of these tests does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_every_step_is_a_documented_target() -> None:
    targets = {line.split(":")[0] for line in (PROJECT / "Makefile").read_text().splitlines() if ": " in line}
    assert {step.target for step in STEPS} <= targets


def test_nightly_contains_every_step_of_a_change_at_least_as_large() -> None:
    larger = {"simulation": "soak", "e2e-core": "e2e", "sam-local-core": "sam-local"}
    nightly = {step.target for step in STEPS if step.nightly is not None}
    assert {larger.get(step.target, step.target) for step in STEPS if step.change is not None} <= nightly


def test_gangs_run_with_every_version_that_has_pod_groups() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    assert f"WITH_PODGROUPS := {' '.join(NATIVE)}\n" in makefile


def test_continues_with_the_step_that_is_named() -> None:
    assert steps_from(None) == list(STEPS)
    assert [step.target for step in steps_from("bench")] == ["bench", "bench-scheduler"]


def test_browser_is_installed_before_tests_ask_for_it() -> None:
    targets = [step.target for step in STEPS]
    assert targets.index("chromium") == targets.index("console-test") - 1


def chaos_variables(lane: Lane) -> dict[str, str]:
    [step] = [step for step in STEPS if step.target == "chaos"]
    _, *variables = step.command(lane) or []
    return dict(variable.split("=", 1) for variable in variables)


def test_nightly_plays_every_fault_twice() -> None:
    assert int(chaos_variables(Lane.NIGHTLY)["ROUNDS"]) == 2 * len(FAULTS)


def test_change_begins_with_losses_of_head_and_cache() -> None:
    known = {each.name: each for each in FAULTS}
    only = [known[name] for name in chaos_variables(Lane.CHANGE)["ONLY"].split(",")]
    assert [each.name for each in islice(deck(only, Random(0)), 2)] == ["head-lost", "cache-emptied"]


@pytest.mark.parametrize(
    ("lane", "wanted"),
    [
        (Lane.CHANGE, [("good", Result.PASSED), ("bad", Result.FAILED)]),
        (Lane.NIGHTLY, [("good", Result.PASSED), ("bad", Result.FAILED), ("good", Result.PASSED)]),
    ],
)
def test_change_lane_stops_at_first_failure_and_nightly_continues(
    tmp_path: Path, lane: Lane, wanted: list[tuple[str, Result]]
) -> None:
    ended = run(lane, (GOOD, BAD, GOOD), tmp_path, Interrupts(), make=MAKE)
    assert [(step.command, step.result) for step in ended] == wanted


def test_each_lane_has_only_its_own_variables(tmp_path: Path) -> None:
    steps = (Step("parity", change="N=1 LEAST=2", nightly="N=9"), Step("soak", change=None))
    assert [step.figure for step in run(Lane.CHANGE, steps, tmp_path, Interrupts(), make=MAKE)] == [
        "parity N=1 LEAST=2"
    ]
    assert [step.figure for step in run(Lane.NIGHTLY, steps, tmp_path, Interrupts(), make=MAKE)] == [
        "parity N=9",
        "soak",
    ]


def test_nightly_prints_end_of_failed_output_and_keeps_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(Lane.NIGHTLY, (GOOD, BAD), tmp_path, Interrupts(), make=MAKE)
    shown = capsys.readouterr().out
    assert "   broken\n" in shown
    assert str(tmp_path / "bad.log") in shown
    assert (tmp_path / "bad.log").read_text() == "broken\n"


@pytest.mark.parametrize("track", [Track.BACKGROUND, Track.CLUSTERS])
@pytest.mark.parametrize("lane", list(Lane))
def test_track_runs_beside_foreground_and_what_measures_alone(tmp_path: Path, lane: Lane, track: Track) -> None:
    met = tmp_path / "met"
    os.mkfifo(met)
    # Either side of the pipe waits for the other: the two end only if they run beside each other.
    shell = (
        f'case $0 in beside) echo both > "{met}"; touch "{tmp_path}/met-beside";; '
        f'cluster) read line < "{met}"; echo $line;; bench) ls "{tmp_path}/met-beside"; nice;; esac'
    )
    steps = (Step("beside", track=track), Step("cluster"), Step("bench", track=Track.ALONE))
    ended = run(lane, steps, tmp_path, Interrupts(), make=("sh", "-c", shell))
    assert [(step.command, step.result) for step in ended] == [
        ("beside", Result.PASSED),
        ("cluster", Result.PASSED),
        ("bench", Result.PASSED),
    ]
    assert ended[1].figure == "both"


def test_log_has_each_line_while_the_step_runs(tmp_path: Path) -> None:
    shell = f'echo line; for _ in $(seq 500); do grep -q line "{tmp_path}/good.log" && exit; sleep 0.01; done; exit 1'
    [ended] = run(Lane.NIGHTLY, (GOOD,), tmp_path, Interrupts(), make=("sh", "-c", shell))
    assert ended.result is Result.PASSED


def test_two_steps_of_the_background_run_at_once_at_night(tmp_path: Path) -> None:
    met = tmp_path / "met"
    os.mkfifo(met)
    shell = f'case $0 in one) echo both > "{met}";; other) read line < "{met}"; echo $line;; esac'
    steps = (Step("one", track=Track.BACKGROUND), Step("other", track=Track.BACKGROUND), GOOD)
    ended = run(Lane.NIGHTLY, steps, tmp_path, Interrupts(), make=("sh", "-c", shell))
    assert [(step.command, step.figure) for step in ended[:2]] == [("one", ""), ("other", "both")]


def test_background_has_the_lowest_priority(tmp_path: Path) -> None:
    steps = (Step("computing", track=Track.BACKGROUND), GOOD)
    shell = "nice; sed 's/.*nice/session/' /proc/self/autogroup 2> /dev/null || echo none"
    [computing, _] = run(Lane.CHANGE, steps, tmp_path, Interrupts(), make=("sh", "-c", shell))
    priority, session = (tmp_path / "computing.log").read_text().split("\n", 1)
    assert computing.result is Result.PASSED
    assert priority == "19"
    assert session.strip() in ("session 19", "none", "")


def test_failure_in_the_background_ends_the_lane_of_a_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = ("sh", "-c", "case $0 in cluster) exec sleep 600;; *) echo broken; exit 3;; esac")
    steps = (Step("computing", track=Track.BACKGROUND), Step("cluster"), GOOD)
    ended = run(Lane.CHANGE, steps, tmp_path, Interrupts(), make=make)
    assert [(step.command, step.result) for step in ended] == [
        ("computing", Result.FAILED),
        ("cluster", Result.INTERRUPTED),
    ]
    assert "   broken\n" in capsys.readouterr().out


def test_failure_ends_what_the_lane_of_a_change_computes(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    make = (
        "sh",
        "-c",
        f'case $0 in computing) echo > "{started}"; exec sleep 600;; *) read _ < "{started}"; exit 3;; esac',
    )
    ended = run(Lane.CHANGE, (Step("computing", track=Track.BACKGROUND), BAD), tmp_path, Interrupts(), make=make)
    assert [step.result for step in ended] == [Result.INTERRUPTED, Result.FAILED]


@pytest.mark.parametrize(
    ("step", "output", "wanted"),
    [
        pytest.param(
            Step("test", figure=PYTEST),
            "3 passed in 1.00s\n== 9 passed, 1 skipped in 2.50s ==\nhint",
            "3 passed in 1.00s; 9 passed, 1 skipped in 2.50s",
            id="all matches",
        ),
        pytest.param(
            Step("console-test", figure=PYTEST),
            "== 31 skipped in 0.40s ==\n",
            "31 skipped in 0.40s",
            id="nothing was tested",
        ),
        pytest.param(Step("test", figure=PYTEST), "nothing like it", "", id="no match"),
        pytest.param(Step("demo"), "one\ntwo\n\nmake: *** Error 1\n", "two", id="the last line that is not make's"),
        pytest.param(Step("demo"), "", "", id="no output"),
        pytest.param(Step("tools"), "two\n\x1b[0m\x1b[0mmake[1]: Leaving\n", "two", id="without colours"),
    ],
)
def test_reads_figure_of_step(step: Step, output: str, wanted: str) -> None:
    assert figure(step, output) == wanted


def test_table_has_line_for_each_step_and_sum() -> None:
    ended = [FinishedStep("lint", Result.PASSED, 20.4, "800 files"), FinishedStep("parity N=1", Result.FAILED, 3.0, "")]
    assert table(ended, 23.4).splitlines() == [
        "lint        passed           20 s  800 files",
        "parity N=1  FAILED            3 s",
        "together                     23 s",
        "steps: 1 passed, 1 failed",
    ]


def test_interrupt_between_two_steps_ends_next_step(tmp_path: Path) -> None:
    interrupts = Interrupts()
    interrupts.handle()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        [ended] = run(Lane.NIGHTLY, (GOOD, GOOD), tmp_path, interrupts, make=MAKE)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert ended.result is Result.INTERRUPTED


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_step_and_prints_table(tmp_path: Path, sent: signal.Signals) -> None:
    started = tmp_path / "started"
    program = (
        "import sys, tools.lanes.__main__ as lanes\n"
        "from tools.lanes import steps\n"
        "from pathlib import Path\n"
        "lanes.LOGS = Path(sys.argv[1])\n"
        "steps.STEPS = (steps.Step('good'), steps.Step('slow'), steps.Step('good'))\n"
        "make = ('sh', '-c', 'if [ $0 = slow ]; then touch ' + sys.argv[2] + '; exec sleep 600; fi; echo done')\n"
        "run = lanes.run\n"
        "lanes.run = lambda *arguments, **options: run(*arguments, **options, make=make)\n"
        "sys.exit(lanes.main(['nightly']))\n"
    )
    lanes = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "logs"), str(started)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    patience = time.monotonic() + 30
    while not started.exists() and time.monotonic() < patience:
        time.sleep(0.01)
    os.kill(lanes.pid, sent)
    shown, _ = lanes.communicate(timeout=30)
    assert lanes.returncode == 130
    assert [line.split()[:2] for line in shown.splitlines() if "interrupted" in line][-1] == ["slow", "interrupted"]
    assert shown.splitlines()[-1] == "steps: 1 passed, 1 failed"
