"""Each check is broken by a case of the end-to-end tests, so that a new one without such a case does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.doctor.checklist import HOW_TO_PROVIDE
from berth_cli.doctor.findings import CheckName, Result
from tests.e2e import broken_guarded, broken_serve, broken_stack
from tests.e2e.broken import Broken

CASES: tuple[Broken[Any], ...] = (
    *broken_serve.CONFIGURATIONS,
    *broken_serve.RIGHTS,
    *broken_guarded.CASES,
    *broken_stack.CASES,
)

CANNOT_FAIL = {
    CheckName.ADDRESS: "a family of checks of which nothing was given: it is only ever skipped",
    CheckName.CLUSTER: "the same",
    CheckName.ACCOUNT: "the same",
}


def test_each_check_is_broken_on_purpose() -> None:
    assert {check for case in CASES for check in case.names} == set(CheckName) - CANNOT_FAIL.keys()


def test_what_cannot_fail_is_what_is_told_by_what_to_give() -> None:
    assert CANNOT_FAIL.keys() <= HOW_TO_PROVIDE.keys()


@pytest.mark.parametrize("case", [pytest.param(each, id=each.what) for each in CASES])
def test_each_case_says_what_is_told_and_what_to_do(case: Broken[Any]) -> None:
    assert case.names
    for said in case.names.values():
        assert said.message
        assert said.remedy
        assert said.result in (Result.FAILED, Result.WARNING)
