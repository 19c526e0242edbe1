"""Misconfigured installations and the findings that `berth doctor` reports for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import pytest

from berth_cli.installation.doctor.findings import CheckName, Result

from .doctor import Diagnosis

SetUp = TypeVar("SetUp", contravariant=True)
Options = Sequence[str | Path]


class ExpectedFinding(NamedTuple):
    """Parts of the expected message and remedy, and the expected result."""

    message: str
    remedy: str
    result: Result = Result.FAILED


@dataclass(frozen=True)
class Misconfiguration(Generic[SetUp]):
    """One misconfiguration.

    findings: every check that is not ok, with its expected finding. All other checks have to be ok.
    apply: a context manager that misconfigures the installation until it exits, and yields options for the command.
    effects: checks that may fail for the same cause, after the findings.
    """

    description: str
    findings: Mapping[CheckName, ExpectedFinding]
    apply: Callable[[SetUp], AbstractContextManager[Options]]
    effects: frozenset[CheckName] = frozenset()

    @property
    def exit_status(self) -> int:
        return int(any(expected.result is Result.FAILED for expected in self.findings.values()))

    def is_reported_by(self, diagnosis: Diagnosis) -> bool:
        """Whether doctor reports exactly the expected checks."""
        return set(diagnosis.bad) == set(self.findings)

    def check(self, diagnosis: Diagnosis, always: frozenset[CheckName] = frozenset()) -> None:
        """always: checks that are not ok in the correct installation either."""
        bad = [check for check in diagnosis.bad if check not in always]
        assert set(self.findings) - always <= set(bad) <= {*self.findings, *self.effects}, diagnosis.findings
        assert set(bad[: len(self.findings)]) == set(self.findings) - always, diagnosis.findings
        for check, expected in self.findings.items():
            found = [each for each in diagnosis.findings if each.check == check and each.result == expected.result]
            assert any(expected.message in each.message and expected.remedy in each.remedy for each in found), (
                check,
                found,
            )
            assert all(each.remedy for each in found), found
        assert diagnosis.exit_status == self.exit_status


def parametrize_misconfigurations(cases: Sequence[Misconfiguration[SetUp]]) -> pytest.MarkDecorator:
    """Run a test for each case; its parameter is `misconfiguration`."""
    return pytest.mark.parametrize("misconfiguration", [pytest.param(each, id=each.description) for each in cases])
