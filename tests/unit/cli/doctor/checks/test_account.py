"""The checks of the stack in its AWS account."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from berth.lease.record import NO_RECORD, Lease, LeaseSpec
from berth.nodecache.feed.head import Head, Observation, Pointer, PublishedVersion, in_every_part
from berth_cli.doctor.access.account import AccountUnavailable, FunctionState, HeadItem, InspectionDenied, Schedule
from berth_cli.doctor.checks.account import check_functions, check_lease, check_roles, check_schedule, check_table
from berth_cli.doctor.findings import Finding, Result
from tests.fakes.doctor import NOW, FakeAccount
from tests.unit.cli.doctor.finding_assertions import expect

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED

NEWEST = in_every_part(PublishedVersion(7, 3))
POINTER = Pointer(7, 3, NEWEST, None, 0, 0, Observation("uid-of-the-cluster", {}), NOW, "0.1.0")
HELD = HeadItem(Lease(LeaseSpec("watcher-1", 15, NOW - 60, NOW - 1, 3), 9, "u", "n"), Head("u", POINTER))


def held(age: float, holder: str = "watcher-1") -> HeadItem:
    """A lease that was renewed so many seconds ago."""
    spec = replace(HELD.lease.spec, renew_time=NOW - age, holder_identity=holder)
    return replace(HELD, lease=replace(HELD.lease, spec=spec))


DENIED, GONE = InspectionDenied("AccessDenied"), AccountUnavailable("the table does not exist")


@pytest.mark.parametrize(
    ("account", "result", "message"),
    [
        pytest.param(FakeAccount(HELD), OK, "version 7 is published", id="published"),
        pytest.param(FakeAccount(None), FAILED, "no watcher has ever run", id="empty"),
        pytest.param(
            FakeAccount(replace(HELD, head=Head("u", None))),
            FAILED,
            "nothing has been published yet",
            id="a lease alone",
        ),
        pytest.param(FakeAccount(error=GONE), FAILED, "does not exist", id="gone"),
    ],
)
def test_reports_table(account: FakeAccount, result: Result, message: str) -> None:
    expect(check_table(account), "table", result, message)


@pytest.mark.parametrize(
    ("item", "periodic", "result", "message"),
    [
        pytest.param(held(2), False, OK, "held by watcher-1, renewed 2 s ago, term 3", id="held"),
        pytest.param(held(40), False, WARNING, "expired, held by watcher-1", id="its holder died a moment ago"),
        pytest.param(held(400), False, FAILED, "no successor", id="its holder died long ago"),
        pytest.param(held(2, ""), False, WARNING, "a successor is expected", id="released a moment ago"),
        pytest.param(held(400, ""), False, FAILED, "no successor", id="released without successor"),
        pytest.param(held(50, ""), True, OK, "free between two runs", id="periodic watcher between runs"),
        pytest.param(held(400, ""), True, FAILED, "no successor", id="periodic watcher missing"),
        pytest.param(replace(HELD, lease=NO_RECORD), False, FAILED, "never acquired", id="never held"),
    ],
)
def test_reports_lease(item: HeadItem, periodic: bool, result: Result, message: str) -> None:
    expect(check_lease(item, NOW, periodic=periodic), "lease", result, message)


@pytest.mark.parametrize(
    ("ledger_epoch", "result", "message"),
    [
        pytest.param(None, OK, "held by watcher-1", id="no ledger"),
        pytest.param(3, OK, "held by watcher-1", id="registered by this leader"),
        pytest.param(2, OK, "held by watcher-1", id="not registered yet"),
        pytest.param(40, FAILED, "term 3 is below the ledger's epoch 40: the watcher", id="lost head item"),
    ],
)
def test_reports_leader_below_the_ledgers_epoch(ledger_epoch: int | None, result: Result, message: str) -> None:
    found = check_lease(held(2), NOW, periodic=False, ledger_epoch=ledger_epoch)
    expect(found, "lease", result, message)


@pytest.mark.parametrize(
    ("account", "result", "message"),
    [
        pytest.param(FakeAccount(), OK, "rate(1 minute), enabled", id="enabled"),
        pytest.param(
            FakeAccount(scheduled=[Schedule("s", "DISABLED", "rate(1 minute)")]), FAILED, "s is DISABLED", id="disabled"
        ),
        pytest.param(FakeAccount(scheduled=[]), FAILED, "nothing starts the watcher", id="none"),
        pytest.param(FakeAccount(error=DENIED), SKIPPED, "AccessDenied", id="caller lacks permission"),
        pytest.param(FakeAccount(error=AccountUnavailable("not found")), FAILED, "not found", id="deleted manually"),
    ],
)
def test_reports_schedule(account: FakeAccount, result: Result, message: str) -> None:
    expect(check_schedule(account), "schedule", result, message)


def test_external_watcher_needs_no_schedule() -> None:
    expect(check_schedule(FakeAccount(scheduled=[]), external=True), "schedule", OK, "WatcherMode external")


@pytest.mark.parametrize(
    "account",
    [
        pytest.param(FakeAccount(scheduled=[Schedule("s", "DISABLED", "rate(1 minute)")]), id="disabled"),
        pytest.param(FakeAccount(error=AccountUnavailable("not found")), id="deleted"),
    ],
)
def test_remedy_for_schedule_is_not_deployment(account: FakeAccount) -> None:
    [found] = check_schedule(account)
    assert "docs/how-to/recover.md" in found.remedy
    assert "deploy" not in found.remedy


@pytest.mark.parametrize(
    ("state", "result", "message"),
    [
        pytest.param(FunctionState("A", "Active", "Successful", None), OK, "1 active", id="active"),
        pytest.param(FunctionState("A", "Inactive", "Successful", 5), OK, "1 active", id="idle function"),
        pytest.param(FunctionState("A", "Failed", "Successful", None), FAILED, "its state is Failed", id="failed"),
        pytest.param(FunctionState("A", "Active", "Failed", None), FAILED, "last update failed", id="an old version"),
        pytest.param(FunctionState("A", "Active", "Successful", 0), FAILED, "never runs", id="reserved concurrency 0"),
    ],
)
def test_reports_function_state(state: FunctionState, result: Result, message: str) -> None:
    expect(check_functions(FakeAccount(deployed=[state])), "functions", result, message)


def test_reports_denied_action_of_role() -> None:
    account = FakeAccount(forbidden=lambda function, action: action.name == "dynamodb:UpdateItem")
    found = list(check_roles(account))
    assert [each.message for each in found] == ["WatcherFunction may not dynamodb:UpdateItem head in the table"]
    expect(check_roles(FakeAccount()), "roles", OK, "all permissions")
    expect(check_roles(account, external=True), "roles", OK, "all permissions")


@pytest.mark.parametrize("check", [check_functions, check_roles])
def test_missing_permission_of_caller_is_skipped(check: Callable[[FakeAccount], Iterator[Finding]]) -> None:
    [finding] = check(FakeAccount(error=DENIED))
    assert (finding.result, bool(finding.remedy)) == (SKIPPED, True)
