"""The policy scanner sees what is wrong with the stack; `make scan` has it look at the stack as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.deployment.transform import transformed
from tests.policy_scan import checkov
from tests.policy_scan.__main__ import DOCUMENT
from tests.policy_scan.exceptions import judge, read
from tests.policy_scan.processed import resolved

pytestmark = pytest.mark.skipif(not checkov.COMMAND.exists(), reason="needs checkov: make tools")


@pytest.fixture(scope="module")
def processed() -> dict[str, Any]:
    return transformed()


def test_what_would_be_wrong_is_found(processed: dict[str, Any], tmp_path: Path) -> None:
    """After the transform: a function's role is SAM's work."""
    scan = read(DOCUMENT)
    template = resolved(processed, scan.deployments["most"])
    resources = template["Resources"]
    (policy,) = resources["FilterFunctionRole"]["Properties"]["Policies"]
    policy["PolicyDocument"]["Statement"][0] |= {"Action": "*", "Resource": "*"}
    resources["ApiStage"]["Properties"].pop("AccessLogSettings")
    resources["LedgerTable"]["Properties"].pop("PointInTimeRecoverySpecification")

    found = checkov.scan({"most": template}, tmp_path)

    new = {line for line in judge(scan, found) if line.startswith("most: CKV")}
    assert {line.split()[2].rstrip(":") for line in new} == {"FilterFunctionRole", "ApiStage", "LedgerTable"}


def test_a_template_that_cannot_be_read_is_not_one_without_findings(tmp_path: Path) -> None:
    with pytest.raises(checkov.ScannerFailed):
        checkov.scan({"most": {"Resources": "none"}}, tmp_path)


def test_a_parameter_that_is_not_there_is_refused(processed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no parameter Misspelt"):
        resolved(processed, {"Misspelt": "1"})


def test_a_resource_that_is_not_made_is_not_looked_at(processed: dict[str, Any]) -> None:
    least = resolved(processed, {"Authentication": "basic"})["Resources"]
    most = resolved(processed, {"Authentication": "mtls"})["Resources"]
    assert ("PasswordSecret" in least, "Domain" in least) == (True, False)
    assert ("PasswordSecret" in most, "Domain" in most) == (False, True)
