"""The report of a run: one Markdown document for an issue. It names no account, no host and no secret."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tools.acceptance.run import Ended, Result

_ACCOUNT = re.compile(r"(?<![0-9])[0-9]{12}(?![0-9])")
_API_HOST = re.compile(r"\b[a-z0-9]{8,12}(?=\.execute-api\.)")
_EKS_HOST = re.compile(r"\b[0-9A-F]{32}(?=\.)")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the figures depend on."""

    version: str
    region: str
    began: str
    parameters: Sequence[str]
    """`NAME=VALUE` as given."""


def markdown(facts: Facts, ended: Sequence[Ended]) -> str:
    """The whole report."""
    lines = [
        f"# Acceptance of Berth {facts.version}",
        "",
        f"**{_verdict(ended)}** Begun {facts.began} in {facts.region}.",
        "",
        "Parameters: " + (", ".join(f"`{each}`" for each in facts.parameters) or "defaults") + ".",
        "",
        "| step | result | seconds |",
        "| --- | --- | --- |",
        *(f"| {each.name} | {each.result} | {each.seconds:.0f} |" for each in ended),
    ]
    for each in ended:
        if each.lines:
            lines += ["", f"## {each.name}", "", *each.lines]
    return redacted("\n".join(lines) + "\n")


def _verdict(ended: Sequence[Ended]) -> str:
    failed = [each.name for each in ended if each.result in (Result.FAILED, Result.INTERRUPTED)]
    if failed:
        return f"Failed at: {', '.join(failed)}."
    skipped = [each.name for each in ended if each.result is Result.SKIPPED]
    return f"No step failed. Skipped: {', '.join(skipped)}." if skipped else "Every step passed."


def redacted(text: str) -> str:
    """Without account numbers and the names of endpoints: a report is public."""
    return _EKS_HOST.sub("CLUSTER", _API_HOST.sub("API", _ACCOUNT.sub("ACCOUNT", text)))
