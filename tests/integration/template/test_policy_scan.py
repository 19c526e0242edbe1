"""The policy scanner finds weaknesses; `make build` runs it on the real template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.deployment.transform import transformed
from tests.policy_scan import checkov
from tests.policy_scan.__main__ import DOCUMENT
from tests.policy_scan.exceptions import read, unexpected
from tests.policy_scan.processed import evaluate

pytestmark = pytest.mark.skipif(not checkov.COMMAND.exists(), reason="checkov is not installed: make tools")


@pytest.fixture(scope="module")
def processed() -> dict[str, Any]:
    return transformed()


@pytest.mark.scan
def test_reports_weakened_resources(processed: dict[str, Any], tmp_path: Path) -> None:
    """After the transform, because SAM creates the functions' roles."""
    scan = read(DOCUMENT)
    template = evaluate(processed, scan.deployments["hardened"])
    resources = template["Resources"]
    (policy,) = resources["FilterFunctionRole"]["Properties"]["Policies"]
    policy["PolicyDocument"]["Statement"][0] |= {"Action": "*", "Resource": "*"}
    resources["ApiStage"]["Properties"].pop("AccessLogSettings")
    resources["LedgerTable"]["Properties"].pop("PointInTimeRecoverySpecification")

    found = checkov.scan({"hardened": template}, tmp_path)

    new = {line for line in unexpected(scan, found) if line.startswith("hardened: CKV")}
    assert {line.split()[2].rstrip(":") for line in new} == {"FilterFunctionRole", "ApiStage", "LedgerTable"}


@pytest.mark.scan
def test_fails_on_an_unreadable_template(tmp_path: Path) -> None:
    with pytest.raises(checkov.ScannerFailed):
        checkov.scan({"hardened": {"Resources": "none"}}, tmp_path)


def test_rejects_unknown_parameter(processed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no parameter Misspelt"):
        evaluate(processed, {"Misspelt": "1"})


def test_skips_resources_whose_condition_is_false(processed: dict[str, Any]) -> None:
    minimal = evaluate(processed, {"Authentication": "basic"})["Resources"]
    hardened = evaluate(processed, {"Authentication": "mtls"})["Resources"]
    assert ("PasswordSecret" in minimal, "Domain" in minimal) == (True, False)
    assert ("PasswordSecret" in hardened, "Domain" in hardened) == (False, True)
