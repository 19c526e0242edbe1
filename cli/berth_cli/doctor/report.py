"""Findings as lines for people, or as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import click
import orjson

from berth_cli.doctor.findings import Finding, Result

COLOURS = {Result.OK: "green", Result.WARNING: "yellow", Result.FAILED: "red", Result.SKIPPED: "cyan"}
WIDTH = max(map(len, Result)) + 2


def text(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for each finding, one more for what to do, and a summary. In colours: click takes them out of a pipe."""
    for finding in findings:
        result = click.style(f"{finding.result:<{WIDTH}}", fg=COLOURS[finding.result])
        yield f"{result}{finding.check}: {_one_line(finding.told)}"
        if finding.remedy:
            yield f"{'':<{WIDTH}}{click.style('->', dim=True)} {finding.remedy}"
    yield summary(findings)


def _one_line(told: str) -> str:
    """Others' messages may have several."""
    return " ".join(told.split())


def summary(findings: Sequence[Finding]) -> str:
    """How many of each."""
    counted = Counter(finding.result for finding in findings)
    return ", ".join(f"{counted[result]} {result}" for result in Result if counted[result])


def as_json(findings: Sequence[Finding]) -> str:
    """One object."""
    counted = Counter(finding.result for finding in findings)
    document = {
        "findings": [
            {"check": each.check, "result": each.result, "told": each.told, "remedy": each.remedy} for each in findings
        ],
        "summary": {result.value: counted[result] for result in Result},
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def exit_status(findings: Sequence[Finding], *, strict: bool) -> int:
    """0, or 1 where something failed; with `strict` a warning counts as much."""
    bad = {Result.FAILED, Result.WARNING} if strict else {Result.FAILED}
    return 1 if any(finding.result in bad for finding in findings) else 0
