"""A round: a fault until its alarms have fired, doctor's report meanwhile, and the time of the recovery."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from tests.e2e.kubernetes.kubernetes_api import ApiError
from tests.gameday.faults import Fault
from tests.gameday.scene import Scene

MINUTE = 60
ALARM_SECONDS = 300.0
RECOVERY_SECONDS = 300.0
LOG_SECONDS = 3.0
"""Time in seconds after the end of a minute until its log lines are available."""

GIVEN_UP = (ApiError, OSError, AssertionError, TimeoutError, ChildProcessError, subprocess.CalledProcessError)
QUIET = Fault("Nothing", lambda _: nullcontext(), frozenset())


@dataclass
class Round:
    """fired: by alarm, the seconds from the fault to the end of the minute in which it fires. doctor: its failures and
    warnings. recovered: seconds from the fault's end until /healthz succeeds and a new pod is placed; None: never.
    """

    fault: str
    ended_by: str
    fired: dict[str, float] = field(default_factory=dict)
    doctor: Mapping[str, str] = field(default_factory=dict)
    recovered: float | None = None
    problems: list[str] = field(default_factory=list)


def play(scene: Scene, fault: Fault) -> Round:
    """Run a round to its end, and record its problems."""
    done = Round(fault.label, fault.ended_by)
    since = int(time.time() // MINUTE)
    try:
        with fault.does(scene):
            _watch(scene, fault, done, since)
            done.doctor = scene.doctor()
        done.recovered = _recovery(scene, time.time())
        if done.recovered is None:
            done.problems.append(f"not recovered within {RECOVERY_SECONDS:g} s")
        _calm(scene)
    except GIVEN_UP as error:
        done.problems.append(f"{type(error).__name__}: {error}")
    for name in sorted(fault.alarms - done.fired.keys()):
        done.problems.append(f"{name} did not fire within {ALARM_SECONDS:g} s")
    if fault.check and fault.check not in done.doctor:
        done.problems.append(f"berth doctor does not report {fault.check}")
    if not fault.alarms:
        done.problems += [f"{name} fired" for name in sorted(done.fired)]
    return done


def _watch(scene: Scene, fault: Fault, done: Round, since: int) -> None:
    """Wait until all expected alarms have fired, or for five minutes. since: earlier minutes do not count."""
    begin, minute = time.time(), since
    while (minute + 1) * MINUTE <= begin + ALARM_SECONDS and not (fault.alarms and fault.alarms <= done.fired.keys()):
        minute = _end_of_minute(scene, minute)
        for name, alarm in scene.alarms.items():
            if name not in done.fired and alarm.is_on(scene.metrics, minute - 1, since):
                done.fired[name] = max(0.0, minute * MINUTE - begin)


def _end_of_minute(scene: Scene, minute: int) -> int:
    """Wait until this minute is over and its metrics are available. Returns the next minute."""
    time.sleep(max(0.0, (minute + 1) * MINUTE + LOG_SECONDS - time.time()))
    scene.collect()
    return minute + 1


def _recovery(scene: Scene, end: float) -> float | None:
    while time.time() < end + RECOVERY_SECONDS:
        if scene.is_healthy() and scene.placed_since(end):
            return time.time() - end
        time.sleep(1)
    return None


def _calm(scene: Scene) -> None:
    """Wait for a minute in which no metric breaches, so that the next round begins without alarms."""
    until, minute = time.time() + RECOVERY_SECONDS, int(time.time() // MINUTE)
    while time.time() < until:
        minute = _end_of_minute(scene, minute)
        if not any(alarm.points(scene.metrics, minute - 1)[-1] for alarm in scene.alarms.values()):
            return
    raise TimeoutError("an alarm's metric does not become quiet")


def table(rounds: Sequence[Round]) -> list[str]:
    lines = ["| Fault | Alarm, after | `berth doctor` | Ended by | Recovered after |", "|---|---|---|---|---|"]
    for each in rounds:
        fired = sorted(each.fired.items(), key=lambda pair: (pair[1], pair[0]))
        alarms = ", ".join(f"{name} {seconds:.0f} s" if seconds else f"{name} at once" for name, seconds in fired)
        checks = ", ".join(f"`{name}`" for name in each.doctor)
        recovered = "-" if each.recovered is None else f"{each.recovered:.0f} s"
        lines.append(
            f"| {each.fault} | {alarms or 'none'} | {checks or 'no failure'} | {each.ended_by or '-'} | {recovered} |"
        )
    return lines
