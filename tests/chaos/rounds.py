"""A round: a fault under load, its end, and the checks afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from berth_cli.installation.doctor.findings import CheckName
from tests.chaos.checks import CheckKind, Checks, Finding, names, shortened
from tests.chaos.faults.every_fault import Fault
from tests.chaos.set_up import SetUp
from tests.e2e.kubernetes.kubernetes_api import ApiError

LOADED_SECONDS = 2.0
"""Seconds under load before a fault and after it."""

NOTICED_SECONDS = 2.0
"""Seconds from a fault until doctor must report it: a server checks its clock once a second."""

MEANWHILE_SECONDS = 60.0
"""The longest time in seconds until the check of a fault that lasts must hold."""

POLL_SECONDS = 0.5
DOCTOR_SECONDS = 15.0

GIVEN_UP = (TimeoutError, ChildProcessError, ApiError, HTTPError, BotoCoreError, ClientError)
"""Errors that end a round or a set-up: a process does not start, or a server does not answer."""

# Slow calls on a shared machine do not count as findings, and a restarted scheduler must not wait for the lease of a
# killed scheduler.
ANYWAY = frozenset({CheckName.HTTP_TIMEOUT, CheckName.LEADER_ELECTION})


@dataclass(frozen=True)
class Round:
    """The result of a round. recovery: seconds from the end of the fault until all checks passed, or None."""

    number: int
    seed: int
    fault: str
    recovery: float | None
    findings: Sequence[Finding]
    figures: str
    """A summary of the round for people."""

    @property
    def holds(self) -> bool:
        return not self.findings

    @property
    def verdict(self) -> str:
        broken = [each for each in CheckKind if each in {finding.check for finding in self.findings}]
        return "broken: " + ", ".join(broken) if broken else "holds"


def deck(faults: Sequence[Fault], random: Random) -> Iterator[Fault]:
    """Yield every fault once in random order, then again in another order, without end."""
    while True:
        yield from random.sample(faults, len(faults))


def play(number: int, seed: int, fault: Fault, set_up: SetUp, checks: Checks) -> Round:
    """Run a round. An error of a process or a server that ends the round is a finding."""
    try:
        return _played(number, seed, fault, set_up, checks)
    except GIVEN_UP as error:
        return given_up(number, seed, fault, error)


def given_up(number: int, seed: int, fault: Fault, error: Exception) -> Round:
    """Return a round that an error ended or prevented."""
    return Round(number, seed, fault.name, None, [Finding(CheckKind.SET_UP, repr(error))], "given up")


def _played(number: int, seed: int, fault: Fault, set_up: SetUp, checks: Checks) -> Round:
    set_up.raise_epoch(fault.epoch)
    workload, witness = set_up.workload, set_up.witness
    witness.judges_teams = fault.keeps_rules
    created, deleted, bound = workload.created, workload.deleted, witness.bindings
    failed = set_up.api_proxy.failed + set_up.tables_proxy.failed
    findings: list[Finding] = []
    with workload.running():
        time.sleep(LOADED_SECONDS)
        with fault.does(set_up):
            began = time.monotonic()
            if fault.named:
                time.sleep(NOTICED_SECONDS)
                findings += _named(fault, checks)
            if fault.meanwhile is None:
                time.sleep(max(0.0, began + fault.seconds - time.monotonic()))
            else:
                findings += held_to_end(fault.meanwhile, checks, began + fault.seconds)
        ended = time.monotonic()
        time.sleep(LOADED_SECONDS)
    recovery = _recovery(checks, ended, fault.recovery_seconds)
    findings += [*checks.witnessed(), *recovery.left, *_truth_of_doctor(checks, sound=not recovery.left)]
    figures = (
        f"{workload.created - created} pods created, {workload.deleted - deleted} deleted, "
        f"{witness.bindings - bound} bound, "
        f"{set_up.api_proxy.failed + set_up.tables_proxy.failed - failed} calls failed, epoch {set_up.epoch()}"
    )
    return Round(
        number, seed, fault.name, recovery.seconds, shortened(findings), f"{figures}, waited for {recovery.last:.100}"
    )


def held_to_end(find: Callable[[Checks], Sequence[Finding]], checks: Checks, ends: float) -> Sequence[Finding]:
    """Wait until the check holds, and repeat it when the fault ends: a new leader may release something in between."""
    until = time.monotonic() + MEANWHILE_SECONDS
    while (left := find(checks)) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    time.sleep(max(0.0, ends - time.monotonic()))
    return left or find(checks)


@dataclass(frozen=True)
class _Recovery:
    """seconds: None if checks still fail. left: the findings of these checks. last: the finding that was left last."""

    seconds: float | None
    left: Sequence[Finding]
    last: str


def _recovery(checks: Checks, ended: float, seconds: float) -> _Recovery:
    last = "nothing"
    while left := checks.state():
        last = f"{left[-1].check}: {left[-1].message}"
        if time.monotonic() - ended > seconds:
            return _Recovery(None, left, last)
        time.sleep(POLL_SECONDS)
    return _Recovery(time.monotonic() - ended, [], last)


def _named(fault: Fault, checks: Checks) -> list[Finding]:
    diagnosis = checks.doctor()
    if names(diagnosis, fault.named):
        return []
    wanted = " or ".join(sorted(fault.named))
    return [Finding(CheckKind.DOCTOR, f"meanwhile it did not name {wanted}; bad were: {diagnosis.bad or 'none'}")]


def _truth_of_doctor(checks: Checks, *, sound: bool) -> list[Finding]:
    """Check that doctor reports a problem exactly if there is one. The state that it reads may be a moment old."""
    until = time.monotonic() + DOCTOR_SECONDS
    while True:
        bad = {name: message for name, message in checks.doctor().bad.items() if name not in ANYWAY}
        if bool(bad) is not sound or time.monotonic() > until:
            break
        time.sleep(POLL_SECONDS)
    if bool(bad) is not sound:
        return []
    message = f"all holds, and it says: {bad}" if bad else "it says that all is sound"
    return [Finding(CheckKind.DOCTOR, message)]
