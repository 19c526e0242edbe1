"""Checks the stack in its AWS account: table, lease, schedule, concurrency and allow-list."""

from __future__ import annotations

from collections.abc import Iterator

from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.installation.doctor.aws_account import AWSAccount, HeadItem
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, warning

TABLE, LEASE, SCHEDULE, ALLOW_LIST = CheckName.TABLE, CheckName.LEASE, CheckName.SCHEDULE, CheckName.ALLOW_LIST
TAKEOVER_SECONDS = 150.0
"""The time in seconds until a failed watcher is replaced: one minute until the schedule starts the next one, a cold
start, and listing the cluster."""

NO_LEADER_REMEDY = "see the check schedule and the watcher's log"
AGAIN_REMEDY = "run the check again in a minute"
ALLOW_LIST_REMEDY = "write it again: berth certificates allow --stack NAME"
# Not "deploy again": CloudFormation restores a manual change only if the template changed.
ENABLE_REMEDY = "enable it: docs/how-to/recover.md"


def check_table(item: HeadItem | None) -> Finding:
    """Check the cache table. `item`: its head item, read with the caller's permissions, not those of the functions."""
    if item is None:
        return failed(TABLE, "the table is empty: no watcher has ever run", NO_LEADER_REMEDY)
    if item.head.pointer is None:
        return failed(TABLE, "a lease exists, but nothing has been published yet", NO_LEADER_REMEDY)
    return ok(TABLE, f"version {item.head.pointer.version} is published")


def check_lease(item: HeadItem, now: float, *, periodic: bool, ledger_epoch: int | None = None) -> Finding:
    """Check the lease. `now`: seconds since the epoch. `periodic`: whether the watcher releases the lease after each
    run. ledger_epoch: the latest epoch in the ledger, which rejects leaders with a lower epoch.
    """
    spec = item.lease.spec
    if ledger_epoch is not None and ledger_epoch > spec.lease_transitions:
        return failed(
            LEASE,
            f"term {spec.lease_transitions} is below the ledger's epoch {ledger_epoch}: the watcher is outranked, and "
            "confirms and releases no reservation",
            f"{AGAIN_REMEDY}: the watcher takes a higher term; if it stays, read the watcher's log",
        )
    if item.lease.resource_version == 0:
        return failed(LEASE, "never acquired", NO_LEADER_REMEDY)
    age = now - spec.renew_time
    renewed = f"renewed {max(0.0, age):.0f} s ago, term {spec.lease_transitions}"
    if not spec.holder_identity:
        if age > TAKEOVER_SECONDS:
            return failed(LEASE, f"free, {renewed}: no successor", NO_LEADER_REMEDY)
        if periodic:
            return ok(LEASE, f"free between two runs of the watcher, {renewed}")
        return warning(LEASE, f"free, {renewed}: a successor is expected", AGAIN_REMEDY)
    if age <= spec.lease_duration_seconds:
        return ok(LEASE, f"held by {spec.holder_identity}, {renewed}")
    expired = f"expired, held by {spec.holder_identity}, {renewed}"
    if age <= TAKEOVER_SECONDS:
        return warning(LEASE, expired, AGAIN_REMEDY)
    return failed(LEASE, f"{expired}: no successor", NO_LEADER_REMEDY)


def check_schedule(account: AWSAccount) -> Iterator[Finding]:
    """Check the schedule: if it is disabled, the cache becomes stale without any error."""
    found = account.schedules()
    if not found:
        yield failed(SCHEDULE, "the stack has no schedule: nothing starts the watcher", "deploy the stack again")
    for each in found:
        if each.state == "ENABLED":
            yield ok(SCHEDULE, f"{each.expression}, enabled")
        else:
            yield failed(SCHEDULE, f"{each.name} is {each.state}: nothing starts the watcher", ENABLE_REMEDY)


def check_concurrency(account: AWSAccount, gangs: GangsConfiguration) -> Iterator[Finding]:
    """Check whether all members of the largest gang can wait in bind concurrently. Yields nothing if gangs are not
    enabled."""
    if not gangs.enabled:
        return
    limit = account.concurrent_executions()
    if limit >= gangs.max_members:
        message = f"{limit} concurrent executions, for gangs of {gangs.max_members} members at most"
        yield ok(CheckName.GANGS, message)
        return
    yield warning(
        CheckName.GANGS,
        f"each member that waits in bind takes an execution environment, and there are {limit}: a gang of about "
        f"{limit} members or more is never placed, and maxMembers is {gangs.max_members}",
        "request a higher quota of concurrent executions (with ReservedConcurrency raise that, too), or set "
        f"gangs.maxMembers below {limit}",
    )


def check_allow_list(account: AWSAccount, now: float) -> Iterator[Finding]:
    """Check the allow-list of client certificates, if the stack uses one. `now`: seconds since the epoch."""
    found = account.allow_list()
    if found is None:
        return
    malformed = f"{found.malformed} line{'s' * (found.malformed != 1)} that cannot be read"
    valid = sum(until is None or now < until for until in found.until.values())
    if not valid:
        yield failed(ALLOW_LIST, f"it accepts no certificate ({malformed}): every call is refused", ALLOW_LIST_REMEDY)
    elif found.malformed:
        yield warning(ALLOW_LIST, f"{malformed}: the certificates there are refused", ALLOW_LIST_REMEDY)
    else:
        yield ok(ALLOW_LIST, f"accepts {valid} certificates")
