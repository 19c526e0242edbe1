"""Findings against exceptions: what has none, and which exception has no finding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, order=True)
class Finding:
    """A check that failed. `resource`: its logical id."""

    deployment: str
    check: str
    resource: str
    summary: str = ""

    def __str__(self) -> str:
        return f"{self.deployment}: {self.check} {self.resource}: {self.summary}"


class PolicyException(BaseModel):
    """A check that may fail. `resources`: logical ids, `*` for any part; `only`: in which deployments, all if empty."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    resources: tuple[str, ...] = Field(min_length=1)
    reason: str = Field(min_length=20)
    only: frozenset[str] = frozenset()

    def stands_in(self, deployment: str) -> bool:
        return not self.only or deployment in self.only

    def covers(self, finding: Finding) -> bool:
        return any(self.matches(pattern, finding) for pattern in self.resources)

    def matches(self, pattern: str, finding: Finding) -> bool:
        """Whether one of `resources` is what this finding is about."""
        return (
            self.check == finding.check
            and self.stands_in(finding.deployment)
            and fnmatchcase(finding.resource, pattern)
        )


class PolicyScan(BaseModel):
    """The document: `deployments` are parameters by name, the exceptions those of all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    deployments: Mapping[str, Mapping[str, str]] = Field(min_length=1)
    exceptions: tuple[PolicyException, ...]


def read(path: Path) -> PolicyScan:
    """Raises pydantic.ValidationError, which names the field."""
    return PolicyScan.model_validate(yaml.safe_load(path.read_text()))


def judge(scan: PolicyScan, findings: Collection[Finding]) -> Iterator[str]:
    """A line for each finding without an exception, and for each exception without a finding."""
    for finding in sorted(findings):
        if not any(exception.covers(finding) for exception in scan.exceptions):
            yield str(finding)
    for exception in scan.exceptions:
        for deployment in exception.only - scan.deployments.keys():
            yield f"the exception from {exception.check} is for a deployment that there is not: {deployment}"
        for deployment in filter(exception.stands_in, scan.deployments):
            here = [finding for finding in findings if finding.deployment == deployment]
            for pattern in exception.resources:
                if not any(exception.matches(pattern, finding) for finding in here):
                    yield f"{deployment}: no finding needs the exception from {exception.check} for {pattern}"
