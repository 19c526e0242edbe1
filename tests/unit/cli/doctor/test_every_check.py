"""Every check has a failing case in the end-to-end tests; a new check without one fails here."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.doctor.checklist import HOW_TO_PROVIDE
from berth_cli.doctor.findings import CheckName, Result
from tests.e2e.misconfigured import mutual_tls, serve, stack
from tests.e2e.misconfigured.misconfiguration import Misconfiguration

CASES: tuple[Misconfiguration[Any], ...] = (
    *serve.CONFIGURATIONS,
    *serve.RIGHTS,
    *mutual_tls.CASES,
    *stack.CASES,
)

CANNOT_FAIL = {
    CheckName.ADDRESS: "a family of checks of which nothing was given: it is only ever skipped",
    CheckName.CLUSTER: "the same",
    CheckName.ACCOUNT: "the same",
}


def test_each_check_has_failing_case() -> None:
    assert {check for case in CASES for check in (*case.findings, *case.effects)} == set(CheckName) - CANNOT_FAIL.keys()


def test_checks_that_cannot_fail_have_instructions() -> None:
    assert CANNOT_FAIL.keys() <= HOW_TO_PROVIDE.keys()


@pytest.mark.parametrize("case", [pytest.param(each, id=each.description) for each in CASES])
def test_each_case_has_message_and_remedy(case: Misconfiguration[Any]) -> None:
    assert case.findings
    for expected in case.findings.values():
        assert expected.message
        assert expected.remedy
        assert expected.result in (Result.FAILED, Result.WARNING)
