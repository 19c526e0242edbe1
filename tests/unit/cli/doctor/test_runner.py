"""Checks run in isolation and are reported in order."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

from berth_cli.doctor.findings import CheckName, Finding, Result, failed, ok, skipped, warning
from berth_cli.doctor.runner import Check, run_checks

TABLE, LEASE, CACHE, CLOCK = CheckName.TABLE, CheckName.LEASE, CheckName.CACHE, CheckName.CLOCK
FINDINGS = [
    ok(TABLE, "fine"),
    warning(LEASE, "hm", "do b"),
    failed(CACHE, "bad", "do c"),
    skipped(CLOCK, "not given"),
]


def test_isolates_hanging_and_raising_checks() -> None:
    never = Event()

    def hangs() -> Sequence[Finding]:
        never.wait()
        return []

    def raises() -> Sequence[Finding]:
        raise KeyError("x")

    checks = [Check(TABLE, hangs), Check(LEASE, raises), Check(CACHE, lambda: [ok(CACHE, "fine")])]
    try:
        found = run_checks(checks, timeout=0.2)
    finally:
        never.set()
    assert [(each.check, each.result) for each in found] == [
        ("table", Result.FAILED),
        ("lease", Result.FAILED),
        ("cache", Result.OK),
    ]
    assert "no result after 0.2 s" in found[0].message
    assert "KeyError" in found[1].message


def test_exclusive_check_runs_last_and_keeps_its_position() -> None:
    done: list[CheckName] = []

    def check(name: CheckName, *, exclusive: bool = False) -> Check:
        def run() -> Sequence[Finding]:
            done.append(name)
            return [ok(name, "")]

        return Check(name, run, exclusive)

    found = run_checks([check(TABLE), check(LEASE, exclusive=True), check(CACHE)], timeout=5)
    assert [each.check for each in found] == [TABLE, LEASE, CACHE]
    assert done[-1] is LEASE
