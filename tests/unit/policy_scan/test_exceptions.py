"""Every finding needs an exception, and every exception a finding."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.policy_scan.exceptions import Finding, PolicyException, PolicyScan, unexpected

REASON = "a reason that a reviewer can check"
KEY = "CKV_AWS_119"


def scan(*exceptions: PolicyException) -> PolicyScan:
    return PolicyScan(deployments={"minimal": {}, "hardened": {}}, exceptions=exceptions)


def exception(*resources: str, only: frozenset[str] = frozenset()) -> PolicyException:
    return PolicyException(check=KEY, resources=resources, reason=REASON, only=only)


def both(resource: str) -> list[Finding]:
    return [Finding(deployment, KEY, resource, "has no key") for deployment in ("minimal", "hardened")]


@pytest.mark.parametrize(
    ("exceptions", "findings", "expected"),
    [
        pytest.param([], [], [], id="nothing found and nothing excepted"),
        pytest.param(
            [],
            [Finding("minimal", KEY, "Table", "has no key")],
            ["minimal: CKV_AWS_119 Table: has no key"],
            id="a finding without an exception",
        ),
        pytest.param([exception("Table")], both("Table"), [], id="a finding with an exception"),
        pytest.param([exception("*Table")], [*both("ATable"), *both("BTable")], [], id="one pattern for two resources"),
        pytest.param(
            [exception("Table")],
            [*both("Table"), Finding("hardened", KEY, "Tables", "has no key")],
            ["hardened: CKV_AWS_119 Tables: has no key"],
            id="an exception is for whole names",
        ),
        pytest.param(
            [exception("Table")],
            [*both("Table"), Finding("hardened", "CKV_AWS_28", "Table", "no backup")],
            ["hardened: CKV_AWS_28 Table: no backup"],
            id="an exception is for one check",
        ),
        pytest.param(
            [exception("Table", "Gone")],
            both("Table"),
            [
                "minimal: no finding matches the exception from CKV_AWS_119 for Gone",
                "hardened: no finding matches the exception from CKV_AWS_119 for Gone",
            ],
            id="a stale exception",
        ),
        pytest.param(
            [exception("Table")],
            [Finding("minimal", KEY, "Table", "has no key")],
            ["hardened: no finding matches the exception from CKV_AWS_119 for Table"],
            id="an exception that one deployment does not need",
        ),
        pytest.param(
            [exception("Table", only=frozenset({"minimal"}))],
            [Finding("minimal", KEY, "Table", "has no key")],
            [],
            id="an exception for one deployment",
        ),
        pytest.param(
            [exception("Table", only=frozenset({"minimal"}))],
            both("Table"),
            ["hardened: CKV_AWS_119 Table: has no key"],
            id="an exception for one deployment does not hold in another",
        ),
        pytest.param(
            [exception("Table", only=frozenset({"trial"}))],
            [],
            ["the exception from CKV_AWS_119 names an unknown deployment: trial"],
            id="an exception for no deployment",
        ),
    ],
)
def test_compares_findings_with_exceptions(
    exceptions: list[PolicyException], findings: list[Finding], expected: list[str]
) -> None:
    assert list(unexpected(scan(*exceptions), findings)) == expected


@pytest.mark.parametrize("reason", ["", "n/a", "accepted"])
def test_requires_reason_for_exception(reason: str) -> None:
    with pytest.raises(ValidationError, match="reason"):
        PolicyException(check=KEY, resources=("Table",), reason=reason)
