"""Checks whether kube-scheduler is configured to call Berth as gangs need it."""

from __future__ import annotations

from collections.abc import Iterator

from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, warning
from berth_cli.installation.doctor.scheduler_configuration import SchedulerSide
from berth_cli.installation.extenders import member_waits
from berth_cli.installation.kube_scheduler_configuration import GANG_BACKOFF_SECONDS

CHECK = CheckName.GANGS
MIN_TIMEOUT_SECONDS = 5
"""With a shorter timeout, members that the scheduler binds a second apart miss each other."""
REMEDY = "use what `berth scheduler-config --config FILE` prints"


def check_gang_scheduling(side: SchedulerSide, gangs: GangsConfiguration) -> Iterator[Finding]:
    """Check the scheduler settings that gangs need. Yields nothing if gangs are not enabled."""
    if not gangs.enabled:
        return
    problems = [*_calls(side), *_times(side)]
    yield from problems or [ok(CHECK, "kube-scheduler sends filter and bind every pod")]


def _calls(side: SchedulerSide) -> Iterator[Finding]:
    if not any(entry.filter_verb and not entry.managed_resources for entry in side.berth_extenders):
        yield failed(CHECK, "filter is not called for every pod, so gangs have no plan (fact 7)", REMEDY)
    binder = side.binder
    if binder is None:
        yield failed(CHECK, "Berth does not bind, so the members of a gang are bound one by one", REMEDY)
    elif binder.managed_resources:
        yield failed(
            CHECK,
            "only pods that request a managed resource are sent to bind: the other members of a gang are bound "
            "without it (fact 7)",
            REMEDY,
        )


def _times(side: SchedulerSide) -> Iterator[Finding]:
    binder = side.binder
    if binder is not None and binder.timeout < MIN_TIMEOUT_SECONDS:
        yield warning(
            CHECK,
            f"httpTimeout {binder.http_timeout} lets a member wait {member_waits(binder.timeout):.1f} s in bind for "
            "the others",
            f"set httpTimeout to {MIN_TIMEOUT_SECONDS}s or more",
        )
    longest = side.configuration.pod_max_backoff_seconds
    if longest > GANG_BACKOFF_SECONDS:
        yield warning(
            CHECK,
            f"podMaxBackoffSeconds is {longest}: a gang that did not fit is tried again after up to {longest} s",
            f"set podMaxBackoffSeconds to {GANG_BACKOFF_SECONDS} or less",
        )
