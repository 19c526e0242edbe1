"""Checks run apart from each other, and are message in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Event

import pytest

from berth_cli.doctor.findings import CheckName, Finding, Result, failed, ok, skipped, warning
from berth_cli.doctor.report import exit_status, json_report, text
from berth_cli.doctor.runner import Check, run_checks

TABLE, LEASE, CACHE, CLOCK = CheckName.TABLE, CheckName.LEASE, CheckName.CACHE, CheckName.CLOCK
FINDINGS = [
    ok(TABLE, "fine"),
    warning(LEASE, "hm", "do b"),
    failed(CACHE, "bad", "do c"),
    skipped(CLOCK, "not given"),
]


def test_a_check_that_hangs_and_one_that_raises_take_no_other_with_them() -> None:
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


def test_what_measures_time_runs_after_all_others_and_stands_in_its_place() -> None:
    done: list[CheckName] = []

    def check(name: CheckName, *, exclusive: bool = False) -> Check:
        def run() -> Sequence[Finding]:
            done.append(name)
            return [ok(name, "")]

        return Check(name, run, exclusive)

    found = run_checks([check(TABLE), check(LEASE, exclusive=True), check(CACHE)], timeout=5)
    assert [each.check for each in found] == [TABLE, LEASE, CACHE]
    assert done[-1] is LEASE


@pytest.mark.parametrize(
    ("findings", "strict", "status"),
    [
        pytest.param(FINDINGS[:1] + FINDINGS[3:], True, 0, id="skipped is no failure"),
        pytest.param(FINDINGS[:2], False, 0, id="a warning is none"),
        pytest.param(FINDINGS[:2], True, 1, id="but with --strict"),
        pytest.param(FINDINGS, False, 1, id="a failure"),
    ],
)
def test_exit_status(findings: list[Finding], strict: bool, status: int) -> None:
    assert exit_status(findings, strict=strict) == status


def test_the_report() -> None:
    import click

    assert [click.unstyle(line) for line in text(FINDINGS)] == [
        "ok       table: fine",
        "warning  lease: hm",
        "         -> do b",
        "failed   cache: bad",
        "         -> do c",
        "skipped  clock: not given",
        "1 ok, 1 warning, 1 failed, 1 skipped",
    ]


def test_the_report_for_programs() -> None:
    found = json.loads(json_report(FINDINGS))
    assert found["findings"][1] == {"check": "lease", "result": "warning", "told": "hm", "remedy": "do b"}
    assert found["summary"] == {"ok": 1, "warning": 1, "failed": 1, "skipped": 1}
