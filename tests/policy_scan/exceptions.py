"""Compares findings with exceptions: findings without an exception, and exceptions without a finding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, order=True)
class Finding:
    """A failed check. `resource`: the logical id."""

    deployment: str
    check: str
    resource: str
    summary: str = ""

    def __str__(self) -> str:
        return f"{self.deployment}: {self.check} {self.resource}: {self.summary}"


class PolicyException(BaseModel):
    """A check that may fail. `resources`: patterns of logical ids; `only`: names of deployments, all if empty."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    resources: tuple[str, ...] = Field(min_length=1)
    reason: str = Field(min_length=20)
    only: frozenset[str] = frozenset()

    def applies_to(self, deployment: str) -> bool:
        return not self.only or deployment in self.only

    def covers(self, finding: Finding) -> bool:
        return any(self.matches(pattern, finding) for pattern in self.resources)

    def matches(self, pattern: str, finding: Finding) -> bool:
        return (
            self.check == finding.check
            and self.applies_to(finding.deployment)
            and fnmatchcase(finding.resource, pattern)
        )


class PolicyScan(BaseModel):
    """The document: parameters by deployment name, and the exceptions of all deployments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    deployments: Mapping[str, Mapping[str, str]] = Field(min_length=1)
    exceptions: tuple[PolicyException, ...]


def read(path: Path) -> PolicyScan:
    """Read the document. Raises pydantic.ValidationError, which names the field."""
    return PolicyScan.model_validate(yaml.safe_load(path.read_text()))


def unexpected(scan: PolicyScan, findings: Collection[Finding]) -> Iterator[str]:
    """Yield a line for each finding without an exception, and for each exception without a finding."""
    for finding in sorted(findings):
        if not any(exception.covers(finding) for exception in scan.exceptions):
            yield str(finding)
    for exception in scan.exceptions:
        for deployment in exception.only - scan.deployments.keys():
            yield f"the exception from {exception.check} names an unknown deployment: {deployment}"
        for deployment in filter(exception.applies_to, scan.deployments):
            reported = [finding for finding in findings if finding.deployment == deployment]
            for pattern in exception.resources:
                if not any(exception.matches(pattern, finding) for finding in reported):
                    yield f"{deployment}: no finding matches the exception from {exception.check} for {pattern}"
