"""The stack in its AWS account: table, lease, schedule, functions and roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth_cli.doctor.access.account import (
    Account,
    AccountUnavailable,
    Action,
    FunctionState,
    HeadItem,
    InspectionDenied,
)
from berth_cli.doctor.findings import (
    NO_WATCHER,
    STALE_CACHE,
    CheckName,
    Finding,
    failed,
    ok,
    skipped,
    warning,
)

TABLE, LEASE, SCHEDULE, FUNCTIONS, ROLES = (
    CheckName.TABLE,
    CheckName.LEASE,
    CheckName.SCHEDULE,
    CheckName.FUNCTIONS,
    CheckName.ROLES,
)

TAKEOVER_SECONDS = 150.0
"""Time for a successor of a failed watcher: one minute until the schedule, a cold start, and listing the cluster."""

# Not "deploy again": CloudFormation restores a manual change only if the template changed.
RECOVERY_GUIDE = "docs/how-to/recover.md"
ENABLE_REMEDY, SCHEDULE_REMEDY = f"enable it: {RECOVERY_GUIDE}", f"if it was deleted, create it again: {RECOVERY_GUIDE}"

_GET, _QUERY, _PUT, _UPDATE = (f"dynamodb:{verb}" for verb in ("GetItem", "Query", "PutItem", "UpdateItem"))
_LOG, _SNAPSHOT = "log#any#nodes", "snapshot#any#0"
_READ_ITEMS = ((_GET, "head"), (_GET, "configuration"))
_READ_CACHE = (*_READ_ITEMS, (_GET, _SNAPSHOT), (_QUERY, _LOG))
TABLE_ACTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "FilterFunction": _READ_CACHE,
    "FilterOnlyOneFunction": _READ_CACHE,
    "PrioritizeFunction": _READ_CACHE,
    "PreemptFunction": _READ_CACHE,
    "BindFunction": _READ_ITEMS,
    "HealthzFunction": _READ_ITEMS,
    "WatcherFunction": (*_READ_CACHE, (_PUT, _LOG), (_PUT, _SNAPSHOT), (_UPDATE, "head")),
}
"""Actions of each function on the cache table, each with its partition key."""

_WITHOUT_LEADER = STALE_CACHE | {CheckName.WATCHER}
EXPLAINED_BY_FUNCTION: Mapping[str, frozenset[CheckName]] = {
    "FilterFunction": frozenset({CheckName.FILTER_VERB}),
    "FilterOnlyOneFunction": frozenset({CheckName.FILTER_VERB}),
    "PrioritizeFunction": frozenset({CheckName.PRIORITIZE_VERB}),
    "PreemptFunction": frozenset({CheckName.PREEMPT_VERB}),
    "HealthzFunction": frozenset({CheckName.CACHE}),
    "WatcherFunction": NO_WATCHER,
}
"""The checks that fail while a function cannot do its work."""


def check_table(account: Account) -> Iterator[Finding]:
    """Read the table as the caller; the functions' permissions are the check `roles`."""
    try:
        item = account.head()
    except AccountUnavailable as error:
        explains = frozenset() if isinstance(error, InspectionDenied) else NO_WATCHER
        yield failed(TABLE, str(error), "check stack, region and credentials", explains=explains)
        return
    if item is None:
        yield _no_leader(TABLE, "the table is empty: no watcher has ever run")
    elif item.head.pointer is None:
        yield _no_leader(TABLE, "a lease exists, but nothing has been published yet")
    else:
        yield ok(TABLE, f"version {item.head.pointer.version} is published")


def check_lease(item: HeadItem, now: float, *, periodic: bool, ledger_epoch: int | None = None) -> Iterator[Finding]:
    """`now`: seconds since the epoch. `periodic`: the watcher releases the lease after each run.

    ledger_epoch: the latest that wrote to the ledger; the ledger refuses a leader below it.
    """
    spec = item.lease.spec
    if ledger_epoch is not None and ledger_epoch > spec.lease_transitions:
        yield failed(
            LEASE,
            f"term {spec.lease_transitions} is below the ledger's epoch {ledger_epoch}: the watcher is outranked, and "
            "confirms and releases no reservation",
            "run the check again in a minute: the watcher takes a higher term; if it stays, read the watcher's log",
        )
        return
    if item.lease.resource_version == 0:
        yield _no_leader(LEASE, "never acquired")
        return
    age = now - spec.renew_time
    renewed = f"renewed {max(0.0, age):.0f} s ago, term {spec.lease_transitions}"
    if not spec.holder_identity:
        if periodic and age <= TAKEOVER_SECONDS:
            yield ok(LEASE, f"free between two runs of the watcher, {renewed}")
        elif age <= TAKEOVER_SECONDS:
            yield warning(LEASE, f"free, {renewed}: a successor is expected", "run the check again in a minute")
        else:
            yield _no_leader(LEASE, f"free, {renewed}: no successor")
    elif age <= spec.lease_duration_seconds:
        yield ok(LEASE, f"held by {spec.holder_identity}, {renewed}")
    elif age <= TAKEOVER_SECONDS:
        yield warning(LEASE, f"expired, held by {spec.holder_identity}, {renewed}", "run the check again in a minute")
    else:
        yield _no_leader(LEASE, f"expired, held by {spec.holder_identity}, {renewed}: no successor")


def _no_leader(check: CheckName, message: str) -> Finding:
    remedy = "see the check schedule and the watcher's log"
    return failed(check, message, remedy, explains=_WITHOUT_LEADER, is_effect=True)


def check_schedule(account: Account, *, external: bool = False) -> Iterator[Finding]:
    """A disabled schedule lets the cache become stale without any error. external: berth watch needs none."""
    if external:
        yield ok(SCHEDULE, "none: with WatcherMode external berth watch runs without it")
        return
    try:
        found = account.schedules()
    except InspectionDenied as error:
        yield skipped(SCHEDULE, str(error), "needs scheduler:GetSchedule and cloudformation:ListStackResources")
        return
    except AccountUnavailable as error:
        yield failed(SCHEDULE, str(error), SCHEDULE_REMEDY, explains=NO_WATCHER)
        return
    if not found:
        message = "the stack has no schedule: nothing starts the watcher"
        yield failed(SCHEDULE, message, "deploy the stack again", explains=NO_WATCHER)
    for each in found:
        if each.state == "ENABLED":
            yield ok(SCHEDULE, f"{each.expression}, enabled")
        else:
            message = f"{each.name} is {each.state}: nothing starts the watcher"
            yield failed(SCHEDULE, message, ENABLE_REMEDY, explains=NO_WATCHER)


def check_functions(account: Account) -> Iterator[Finding]:
    """Function states that no alarm covers."""
    try:
        found = account.functions()
    except InspectionDenied as error:
        yield skipped(FUNCTIONS, str(error), "needs lambda:GetFunctionConfiguration and lambda:GetFunctionConcurrency")
        return
    except AccountUnavailable as error:
        yield failed(FUNCTIONS, str(error), "deploy the stack again")
        return
    bad = [(each, cause) for each in found if (cause := _function_problem(each))]
    for each, cause in bad:
        yield failed(
            FUNCTIONS,
            f"{each.logical_id}: {cause}",
            "inspect the function in the AWS console, or deploy again",
            explains=EXPLAINED_BY_FUNCTION.get(each.logical_id, frozenset()),
        )
    if not bad:
        yield ok(FUNCTIONS, f"{len(found)} active")


def _function_problem(function: FunctionState) -> str:
    if function.reserved == 0:
        return "its reserved concurrency is 0: it never runs"
    if function.state not in ("Active", "Inactive"):
        return f"its state is {function.state}"
    return "its last update failed" if function.update == "Failed" else ""


def check_roles(account: Account, *, external: bool = False) -> Iterator[Finding]:
    """Simulate the actions of each function's role on the table. external: the stack has no watcher's role."""
    try:
        arn = account.table_arn()
    except AccountUnavailable as error:
        yield skipped(ROLES, str(error), f"see the check {TABLE}; needs dynamodb:DescribeTable")
        return
    try:
        denied = {
            function: account.denied(function, [Action(name, arn, partition) for name, partition in actions])
            for function, actions in TABLE_ACTIONS.items()
            if not (external and function == "WatcherFunction")
        }
    except InspectionDenied as error:
        yield skipped(ROLES, str(error), "needs iam:SimulatePrincipalPolicy and iam:GetRole")
        return
    except AccountUnavailable as error:
        yield failed(ROLES, str(error), "deploy the stack again")
        return
    for function, actions in denied.items():
        for action in actions:
            yield failed(
                ROLES,
                f"{function} may not {action.name} {action.partition} in the table",
                "deploy the stack again",
                explains=EXPLAINED_BY_FUNCTION.get(function, frozenset()),
            )
    if not any(denied.values()):
        yield ok(ROLES, "the functions have all permissions on the table")
