"""Assertions on findings for table-driven tests."""

from __future__ import annotations

from collections.abc import Iterable

from berth_cli.installation.doctor.findings import Finding, Result


def of(findings: Iterable[Finding], check: str) -> list[Finding]:
    return [finding for finding in findings if finding.check == check]


def expect(findings: Iterable[Finding], check: str, result: Result, message: str) -> None:
    """Assert that a finding has this result and message, and that every problem has a remedy."""
    found = of(findings, check)
    assert [each for each in found if each.result is result and message in each.message], found
    for each in found:
        assert bool(each.remedy) or each.result in (Result.OK, Result.SKIPPED), each
