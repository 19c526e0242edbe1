"""Set-ups that are broken on purpose, one thing at a time, and all that `berth doctor` may say to each.

tests/unit/cli/doctor/test_every_check.py looks that no check is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import pytest

from berth_cli.doctor.findings import CheckName, Result

from .doctor import Diagnosis

SetUp = TypeVar("SetUp", contravariant=True)
Options = Sequence[str | Path]


class Said(NamedTuple):
    """A part of what is message, and of its remedy."""

    message: str
    remedy: str
    result: Result = Result.FAILED


@dataclass(frozen=True)
class Broken(Generic[SetUp]):
    """what: in words. names: every check that is not ok, and what it says; all others have to stay green, but for those
    that `may` go with it: what a function has in memory hides some things for a while.

    breaking: breaks it until the block ends, and gives options for the command.
    """

    what: str
    names: Mapping[CheckName, Said]
    breaking: Callable[[SetUp], AbstractContextManager[Options]]
    may: frozenset[CheckName] = frozenset()

    @property
    def exit_status(self) -> int:
        return int(any(said.result is Result.FAILED for said in self.names.values()))

    def is_named_by(self, diagnosis: Diagnosis) -> bool:
        """Whether doctor names it, and nothing else."""
        return set(diagnosis.bad) == set(self.names)

    def check(self, diagnosis: Diagnosis, always: frozenset[CheckName] = frozenset()) -> None:
        """always: the checks that are not ok in the sound set-up, either."""
        allowed = always | self.may
        assert set(diagnosis.bad) - allowed == set(self.names) - allowed, diagnosis.findings
        for check, said in self.names.items():
            found = [each for each in diagnosis.findings if each.check == check and each.result == said.result]
            assert any(said.message in each.message and said.remedy in each.remedy for each in found), (check, found)
            assert all(each.remedy for each in found), found
        assert diagnosis.exit_status == self.exit_status


def table(cases: Sequence[Broken[SetUp]]) -> pytest.MarkDecorator:
    """Run a test for each of them, as `broken`."""
    return pytest.mark.parametrize("broken", [pytest.param(each, id=each.what) for each in cases])
