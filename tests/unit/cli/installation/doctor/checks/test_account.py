"""The checks of the stack in its AWS account."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.authentication.allow_list import parse
from berth.lease.lock import NO_RECORD, Lease, LeaseSpec
from berth.nodecache.feed.head import Head, Observation, Pointer, PublishedVersion, in_every_part
from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.installation.doctor.aws_account import HeadItem, Schedule
from berth_cli.installation.doctor.checks.account import (
    check_allow_list,
    check_concurrency,
    check_lease,
    check_schedule,
    check_table,
)
from berth_cli.installation.doctor.findings import CheckName, Result
from tests.fakes.doctor import NOW, FakeAccount
from tests.unit.cli.installation.doctor.finding_assertions import expect

FAILED, WARNING, OK = Result.FAILED, Result.WARNING, Result.OK

NEWEST = in_every_part(PublishedVersion(7, 3))
POINTER = Pointer(7, 3, NEWEST, None, 0, 0, Observation("uid-of-the-cluster", {}), NOW, "0.1.0")
HELD = HeadItem(Lease(LeaseSpec("watcher-1", 15, NOW - 60, NOW - 1, 3), 9, "u", "n"), Head("u", POINTER))


def held(age: float, holder: str = "watcher-1") -> HeadItem:
    """Return a head item whose lease was renewed this many seconds ago."""
    spec = replace(HELD.lease.spec, renew_time=NOW - age, holder_identity=holder)
    return replace(HELD, lease=replace(HELD.lease, spec=spec))


@pytest.mark.parametrize(
    ("item", "result", "message"),
    [
        pytest.param(HELD, OK, "version 7 is published", id="published"),
        pytest.param(None, FAILED, "no watcher has ever run", id="empty"),
        pytest.param(replace(HELD, head=Head("u", None)), FAILED, "nothing has been published yet", id="only a lease"),
    ],
)
def test_reports_whether_the_cache_is_published(item: HeadItem | None, result: Result, message: str) -> None:
    expect([check_table(item)], "table", result, message)


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
def test_reports_state_of_the_lease(item: HeadItem, periodic: bool, result: Result, message: str) -> None:
    expect([check_lease(item, NOW, periodic=periodic)], "lease", result, message)


@pytest.mark.parametrize(
    ("ledger_epoch", "result", "message"),
    [
        pytest.param(None, OK, "held by watcher-1", id="no ledger"),
        pytest.param(3, OK, "held by watcher-1", id="registered by this leader"),
        pytest.param(2, OK, "held by watcher-1", id="not registered yet"),
        pytest.param(40, FAILED, "term 3 is below the ledger's epoch 40: the watcher", id="lost head item"),
    ],
)
def test_reports_a_leader_epoch_below_the_ledgers_epoch(ledger_epoch: int | None, result: Result, message: str) -> None:
    found = check_lease(held(2), NOW, periodic=False, ledger_epoch=ledger_epoch)
    expect([found], "lease", result, message)


@pytest.mark.parametrize(
    ("account", "result", "message"),
    [
        pytest.param(FakeAccount(), OK, "rate(1 minute), enabled", id="enabled"),
        pytest.param(
            FakeAccount(scheduled=[Schedule("s", "DISABLED", "rate(1 minute)")]), FAILED, "s is DISABLED", id="disabled"
        ),
        pytest.param(FakeAccount(scheduled=[]), FAILED, "nothing starts the watcher", id="no schedule"),
    ],
)
def test_reports_whether_the_schedule_is_enabled(account: FakeAccount, result: Result, message: str) -> None:
    expect(check_schedule(account), "schedule", result, message)


@pytest.mark.parametrize(
    ("account", "result", "message"),
    [
        pytest.param(FakeAccount(concurrency=1000), OK, "for gangs of 100 members", id="enough"),
        pytest.param(FakeAccount(concurrency=100), OK, "100 concurrent executions", id="just enough"),
        pytest.param(
            FakeAccount(concurrency=10), WARNING, "a gang of about 10 members or more is never", id="a new account"
        ),
    ],
)
def test_compares_account_concurrency_with_the_largest_gang(account: FakeAccount, result: Result, message: str) -> None:
    expect(
        check_concurrency(account, GangsConfiguration(enabled=True, maxMembers=100)), CheckName.GANGS, result, message
    )


SERIAL = "3f0c" * 8


@pytest.mark.parametrize(
    ("text", "result", "message"),
    [
        pytest.param(f"{SERIAL}\n{SERIAL[::-1]} until 2999-01-01T00:00:00Z", OK, "2 certificates", id="valid"),
        pytest.param(f"{SERIAL}\nfoo", WARNING, "1 line that cannot be read", id="a malformed line"),
        pytest.param("foo\nbar", FAILED, "accepts no certificate (2 lines that cannot be read)", id="malformed"),
        pytest.param("", FAILED, "accepts no certificate", id="empty"),
        pytest.param(f"{SERIAL} until 2020-01-01T00:00:00Z", FAILED, "accepts no certificate", id="all expired"),
    ],
)
def test_reports_state_of_the_allow_list(text: str, result: Result, message: str) -> None:
    expect(check_allow_list(FakeAccount(allowed=parse(text)), NOW), "allow-list", result, message)
