"""The report of findings: text, JSON and exit status."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.installation.doctor.findings import (
    CheckName,
    Finding,
    document,
    exit_status,
    failed,
    ok,
    skipped,
    warning,
)

TABLE, LEASE, CACHE, POLICY = CheckName.TABLE, CheckName.LEASE, CheckName.CACHE, CheckName.POLICY
FINDINGS = [ok(TABLE, "fine"), warning(LEASE, "hm", "do b"), failed(CACHE, "bad", "do c"), skipped(POLICY, "not given")]


@pytest.mark.parametrize(
    ("findings", "strict", "status"),
    [
        pytest.param(FINDINGS[:1] + FINDINGS[3:], True, 0, id="a skipped check is not a failure"),
        pytest.param(FINDINGS[:2], False, 0, id="a warning is not a failure"),
        pytest.param(FINDINGS[:2], True, 1, id="a warning with --strict is a failure"),
        pytest.param(FINDINGS, False, 1, id="a failure"),
    ],
)
def test_exit_status_is_1_for_failures_and_strict_warnings(findings: list[Finding], strict: bool, status: int) -> None:
    assert exit_status(findings, strict=strict) == status


def test_document_contains_findings_and_summary() -> None:
    found: dict[str, Any] = document(FINDINGS)
    assert found["findings"][1] == {"check": "lease", "result": "warning", "message": "hm", "remedy": "do b"}
    assert found["summary"] == {"ok": 1, "warning": 1, "failed": 1, "skipped": 1}
