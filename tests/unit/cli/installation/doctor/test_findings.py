"""The report of findings: text, JSON and exit status."""

from __future__ import annotations

from typing import Any

import click
import pytest

from berth_cli.installation.doctor.findings import (
    CONTRACT,
    CheckName,
    Finding,
    document,
    exit_status,
    failed,
    lines,
    ok,
    skipped,
    summary,
    warning,
)

TABLE, LEASE, CACHE, CLOCK = CheckName.TABLE, CheckName.LEASE, CheckName.CACHE, CheckName.CLOCK
FINDINGS = [
    ok(TABLE, "fine"),
    warning(LEASE, "hm", "do b"),
    failed(CACHE, "bad", "do c"),
    skipped(CLOCK, "not given"),
]


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


def test_prints_text_with_remedies_and_summary() -> None:
    printed = [*(line for finding in FINDINGS for line in lines(finding)), summary(FINDINGS)]
    assert [click.unstyle(line) for line in printed] == [
        "ok       table: fine",
        "warning  lease: hm",
        "         -> do b",
        "failed   cache: bad",
        "         -> do c",
        "skipped  clock: not given",
        "1 ok, 1 warning, 1 failed, 1 skipped",
    ]


def test_document_has_findings_and_summary() -> None:
    found: dict[str, Any] = document(FINDINGS)
    assert found["findings"][1] == {
        "check": "lease",
        "result": "warning",
        "message": "hm",
        "remedy": "do b",
        "links": [],
    }
    assert found["summary"] == {"ok": 1, "warning": 1, "failed": 1, "skipped": 1}


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        pytest.param("calls time out", [], id="none"),
        pytest.param("no node fits (fact 15a)", ["15a"], id="one"),
        pytest.param("a sample (facts 11, 12 and 47), see fact 9", ["11", "12", "47", "9"], id="several"),
    ],
)
def test_links_lead_to_cited_facts(message: str, numbers: list[str]) -> None:
    finding = failed(CACHE, message, "do c")
    links = [f"docs/reference/extender-contract.md#fact-{number}" for number in numbers]
    found: dict[str, Any] = document([finding])
    assert found["findings"][0]["links"] == links
    shown = [click.unstyle(line) for line in lines(finding) if CONTRACT in line]
    assert shown == ([f"         facts {', '.join(numbers)}: {CONTRACT}"] if numbers else [])
