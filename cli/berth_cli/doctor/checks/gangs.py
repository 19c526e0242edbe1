"""Gangs: does kube-scheduler call Berth as they need it, can their members wait at once, and which gangs wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from berth.gangs.item import GangState
from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.gangs.overview import GangStage
from berth_cli.doctor.access.account import Account, AccountUnavailable
from berth_cli.doctor.access.endpoint import Endpoint, NoResponse
from berth_cli.doctor.access.running import json_object
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.doctor.scheduler.scheduler_side import SchedulerSide
from berth_cli.output import shown_age
from berth_cli.scheduler_config.kube_scheduler_configuration import BOUNDED_RETRIES, GANG_BACKOFF_SECONDS
from berth_cli.scheduler_config.notes import MIN_GANG_TIMEOUT_SECONDS, member_waits

CHECK = CheckName.GANGS
REMEDY = "use what `berth scheduler-config --config FILE` prints"

WAITING_SECONDS = 60.0
"""A gang that fits is placed within this time."""

MOST_SHOWN = 5
"""Gangs that get a finding of their own."""

_FINISHED = frozenset({GangState.COMMITTED.value, GangState.ENDED.value})
_REMEDIES: Mapping[str, str] = {
    GangStage.WAITS_FOR_MEMBERS.value: "create the others, or correct the size of the gang",
    GangStage.DOES_NOT_FIT.value: "add nodes, or end pods; `berth gangs describe` shows the members",
    GangStage.INVALID.value: "correct the pods or their PodGroup",
    "degraded": "create the missing pods again, or delete the gang; the events of its pods say what happened",
}
_OTHERWISE = "see `berth gangs describe`"


def check_gang_scheduling(side: SchedulerSide, gangs: GangsConfiguration) -> Iterator[Finding]:
    """What gangs need of the scheduler's configuration. Nothing where they are not enabled."""
    if not gangs.enabled:
        return
    problems = [*_calls(side), *_times(side)]
    yield from problems or [ok(CHECK, "kube-scheduler sends filter and bind every pod")]
    yield _retries(side.flags)


def _retries(flags: tuple[str, ...] | None) -> Finding:
    """flags: of kube-scheduler; None: unknown."""
    remedy = f"run kube-scheduler with {BOUNDED_RETRIES}"
    if flags is None:
        return skipped(
            CHECK,
            "the flags of kube-scheduler are not in its configuration: without the feature gate a native gang that "
            "does not fit is retried without a pause (fact 44)",
            f"{remedy}; manifests with its container show them",
        )
    gate = BOUNDED_RETRIES.partition("=")[2]
    if any(flag.startswith("--feature-gates=") and gate in flag.partition("=")[2].split(",") for flag in flags):
        return ok(CHECK, f"kube-scheduler runs with {gate}")
    return failed(
        CHECK, f"kube-scheduler runs without {gate}: a native gang that does not fit is retried without a pause", remedy
    )


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
    if binder is not None and binder.timeout < MIN_GANG_TIMEOUT_SECONDS:
        yield warning(
            CHECK,
            f"httpTimeout {binder.http_timeout} lets a member wait {member_waits(binder.timeout):.1f} s in bind for "
            "the others",
            f"set httpTimeout to {MIN_GANG_TIMEOUT_SECONDS:.0f}s or more",
        )
    longest = side.configuration.pod_max_backoff_seconds
    if longest > GANG_BACKOFF_SECONDS:
        yield warning(
            CHECK,
            f"podMaxBackoffSeconds is {longest}: a gang that did not fit is tried again after up to {longest} s",
            f"set podMaxBackoffSeconds to {GANG_BACKOFF_SECONDS} or less",
        )


def check_concurrency(account: Account, gangs: GangsConfiguration) -> Iterator[Finding]:
    """Whether all members of the largest gang can wait in bind at once. Nothing where gangs are not enabled."""
    if not gangs.enabled:
        return
    try:
        most = account.concurrent_executions()
    except AccountUnavailable as error:
        yield skipped(CHECK, str(error), "needs lambda:GetAccountSettings")
        return
    if most >= gangs.max_members:
        yield ok(CHECK, f"{most} concurrent executions, for gangs of {gangs.max_members} members at most")
        return
    yield warning(
        CHECK,
        f"each member that waits in bind takes an execution environment, and the account has {most}: a gang of about "
        f"{most} members or more is never placed, and maxMembers is {gangs.max_members}",
        f"request a higher quota of concurrent executions, or set gangs.maxMembers below {most}",
    )


def check_waiting_gangs(endpoint: Endpoint, now: float) -> Iterator[Finding]:
    """The gangs that have waited for a minute, as a running berth serve knows them. A stack has no such route: nothing.

    now: seconds since the epoch.
    """
    answer = endpoint.get("gangs")
    content = json_object(answer)
    if isinstance(answer, NoResponse) or answer.status != 200 or content is None:
        return
    gangs: Any = content.get("gangs") or []
    waiting = [each for each in gangs if each["state"] not in _FINISHED and _age(each, now) >= WAITING_SECONDS]
    waiting.sort(key=lambda each: each["since"])
    for each in waiting[:MOST_SHOWN]:
        why = each["waitsFor"] or each["state"]
        message = f"{each['gang']} has waited for {shown_age(_age(each, now))}: {why}"
        yield warning(CHECK, message, _REMEDIES.get(each["state"], _OTHERWISE))
    if len(waiting) > MOST_SHOWN:
        yield warning(CHECK, f"{len(waiting) - MOST_SHOWN} more gangs wait", "see `berth gangs list`")
    if not waiting and gangs:
        yield ok(CHECK, f"no gang of {len(gangs)} waits")


def _age(gang: Mapping[str, Any], now: float) -> float:
    since = gang["since"]
    return 0.0 if since is None else now - datetime.fromisoformat(since).timestamp()
