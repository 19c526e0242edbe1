"""Findings as text lines or as a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from berth_cli.doctor.contract import PAGE
from berth_cli.doctor.findings import Finding, Result

COLOURS = {Result.OK: "green", Result.WARNING: "yellow", Result.FAILED: "red", Result.SKIPPED: "cyan"}
WIDTH = max(map(len, Result)) + 2


def text(findings: Sequence[Finding]) -> Iterator[str]:
    """One line for each finding, one for its remedy and for each fact behind it, and a summary.

    Coloured; click removes colours in a pipe.
    """
    for finding in findings:
        result = click.style(f"{finding.result:<{WIDTH}}", fg=COLOURS[finding.result])
        yield f"{result}{finding.check}: {_one_line(finding.message)}"
        if finding.remedy:
            yield f"{'':<{WIDTH}}{click.style('->', dim=True)} {finding.remedy}"
        if finding.result is not Result.OK:
            for fact in facts(finding):
                yield f"{'':<{WIDTH}}{click.style('fact', dim=True)} {fact}: berth doctor --explain-fact {fact}"
    yield summary(findings)


FACTS = re.compile(r"\bfacts? (\d+a?(?:(?:, | and )\d+a?)*)")


def facts(finding: Finding) -> list[str]:
    """The numbers of the facts that the message cites."""
    return [number for cited in FACTS.findall(finding.message) for number in re.findall(r"\d+a?", cited)]


def _link(fact: str) -> str:
    return f"{PAGE}#fact-{fact}"


def _one_line(message: str) -> str:
    """Messages of other systems may contain line breaks."""
    return " ".join(message.split())


def summary(findings: Sequence[Finding]) -> str:
    """The number of findings by result."""
    counted = Counter(finding.result for finding in findings)
    return ", ".join(f"{counted[result]} {result}" for result in Result if counted[result])


def document(findings: Sequence[Finding]) -> dict[str, object]:
    """For programs. The key `told` is part of the documented output format."""
    counted = Counter(finding.result for finding in findings)
    return {
        "findings": [
            {
                "check": each.check,
                "result": each.result,
                "told": each.message,
                "remedy": each.remedy,
                "links": [_link(fact) for fact in facts(each)],
            }
            for each in findings
        ],
        "summary": {result.value: counted[result] for result in Result},
    }


def exit_status(findings: Sequence[Finding], *, strict: bool) -> int:
    """0, or 1 if a check failed; with `strict` also for warnings."""
    failures = {Result.FAILED, Result.WARNING} if strict else {Result.FAILED}
    return 1 if any(finding.result in failures for finding in findings) else 0
