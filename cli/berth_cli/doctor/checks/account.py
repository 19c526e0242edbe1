"""The stack in its account: table, lease, schedule, functions, roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth_cli.doctor.access.account import Account, AccountUnavailable, Action, FunctionState, HeadItem, NotToldHere
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning

TABLE, LEASE, SCHEDULE, FUNCTIONS, ROLES = (
    CheckName.TABLE,
    CheckName.LEASE,
    CheckName.SCHEDULE,
    CheckName.FUNCTIONS,
    CheckName.ROLES,
)

GRACE_SECONDS = 150.0
"""A watcher that died is followed by the one that the schedule starts next: a minute, a cold start, a listing."""

# Not "deploy again": a deployment without a change of the template puts back nothing that was done by hand.
BY_HAND = "docs/how-to/recover.md"
ENABLE, SCHEDULE_GONE = f"enable it: {BY_HAND}", f"if it is gone, make it again: {BY_HAND}"

_GET, _QUERY, _PUT, _UPDATE = (f"dynamodb:{verb}" for verb in ("GetItem", "Query", "PutItem", "UpdateItem"))
_LOG, _SNAPSHOT = "log#any", "snapshot#any#0"
_LOOK = ((_GET, "head"), (_GET, "configuration"))
_FOLLOW = (*_LOOK, (_GET, _SNAPSHOT), (_QUERY, _LOG))
ON_TABLE: Mapping[str, tuple[tuple[str, str], ...]] = {
    "FilterFunction": _FOLLOW,
    "FilterOnlyOneFunction": _FOLLOW,
    "PrioritizeFunction": _FOLLOW,
    "PreemptFunction": _FOLLOW,
    "BindFunction": _LOOK,
    "HealthzFunction": _LOOK,
    "WatcherFunction": (*_FOLLOW, (_PUT, _LOG), (_PUT, _SNAPSHOT), (_UPDATE, "head")),
}
"""What each function does with the cache table, and with which partition of it."""


def table(account: Account) -> Iterator[Finding]:
    """As who runs this command; what the functions may is the check of roles."""
    try:
        item = account.head()
    except AccountUnavailable as error:
        yield failed(TABLE, str(error), "see whether stack, region and credentials are the right ones")
        return
    if item is None:
        yield failed(TABLE, "it is empty: no watcher has ever run", "see the check schedule and the watcher's log")
    elif item.head.pointer is None:
        yield failed(TABLE, "there is a lease, and nothing was published yet", "see the watcher's log")
    else:
        yield ok(TABLE, f"version {item.head.pointer.version} is published")


def lease(item: HeadItem, now: float, *, periodic: bool) -> Iterator[Finding]:
    """`now`: seconds since the epoch. `periodic`: the watcher releases the lease each time it is done."""
    spec = item.lease.spec
    if item.lease.resource_version == 0:
        yield failed(LEASE, "nobody has ever held it", "see the check schedule and the watcher's log")
        return
    age = now - spec.renew_time
    renewed = f"renewed {max(0.0, age):.0f} s ago, term {spec.lease_transitions}"
    if not spec.holder_identity:
        if periodic and age <= GRACE_SECONDS:
            yield ok(LEASE, f"free between two runs of the watcher, {renewed}")
        elif age <= GRACE_SECONDS:
            yield warning(LEASE, f"free, {renewed}: a successor is expected", "look again in a minute")
        else:
            yield failed(LEASE, f"free, {renewed}: nobody follows", "see the check schedule and the watcher's log")
    elif age <= spec.lease_duration_seconds:
        yield ok(LEASE, f"held by {spec.holder_identity}, {renewed}")
    elif age <= GRACE_SECONDS:
        yield warning(LEASE, f"run out, of {spec.holder_identity}, {renewed}", "look again in a minute")
    else:
        yield failed(
            LEASE,
            f"run out, of {spec.holder_identity}, {renewed}: nobody follows",
            "see the check schedule and the watcher's log",
        )


def schedule(account: Account) -> Iterator[Finding]:
    """Disabled, and the cache grows old with nobody to say why."""
    try:
        found = account.schedules()
    except NotToldHere as error:
        yield skipped(SCHEDULE, str(error), "ask with scheduler:GetSchedule and cloudformation:ListStackResources")
        return
    except AccountUnavailable as error:
        yield failed(SCHEDULE, str(error), SCHEDULE_GONE)
        return
    if not found:
        yield failed(SCHEDULE, "the stack has none: nothing starts the watcher", "deploy the stack again")
    for each in found:
        if each.state == "ENABLED":
            yield ok(SCHEDULE, f"{each.expression}, enabled")
        else:
            yield failed(SCHEDULE, f"{each.name} is {each.state}: nothing starts the watcher", ENABLE)


def functions(account: Account) -> Iterator[Finding]:
    """States that no alarm is for."""
    try:
        found = account.functions()
    except NotToldHere as error:
        yield skipped(FUNCTIONS, str(error), "ask with lambda:GetFunctionConfiguration and GetFunctionConcurrency")
        return
    except AccountUnavailable as error:
        yield failed(FUNCTIONS, str(error), "deploy the stack again")
        return
    bad = [(each, cause) for each in found if (cause := _wrong(each))]
    for each, cause in bad:
        yield failed(FUNCTIONS, f"{each.logical_id}: {cause}", "see the function in the account, or deploy again")
    if not bad:
        yield ok(FUNCTIONS, f"{len(found)} are active")


def _wrong(function: FunctionState) -> str:
    if function.reserved == 0:
        return "its reserved concurrency is 0: it never runs"
    if function.state not in ("Active", "Inactive"):
        return f"its state is {function.state}"
    return "its last update failed" if function.update == "Failed" else ""


def roles(account: Account) -> Iterator[Finding]:
    """What IAM's simulator says of each function's role and the table."""
    try:
        arn = account.table_arn()
    except AccountUnavailable as error:
        yield skipped(ROLES, str(error), f"see the check {TABLE}; ask with dynamodb:DescribeTable")
        return
    try:
        denied = {
            function: account.denied(function, [Action(name, arn, partition) for name, partition in actions])
            for function, actions in ON_TABLE.items()
        }
    except NotToldHere as error:
        yield skipped(ROLES, str(error), "ask with iam:SimulatePrincipalPolicy and iam:GetRole")
        return
    except AccountUnavailable as error:
        yield failed(ROLES, str(error), "deploy the stack again")
        return
    for function, actions in denied.items():
        for action in actions:
            yield failed(
                ROLES, f"{function} may not {action.name} {action.partition} in the table", "deploy the stack again"
            )
    if not any(denied.values()):
        yield ok(ROLES, "the functions may do with the table what they have to")
