"""What a report of pip-audit comes to."""

from __future__ import annotations

from typing import Any

import pytest

from tools.supply_chain.audit import Outcome, judge

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
VULNERABLE = {"name": "hole", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}]}
HOPELESS = {"name": "abyss", "version": "1.0", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}
SKIPPED = {"name": "unheard-of", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        pytest.param(
            [SOUND, SOUND],
            (Outcome.CLEAN, ["1 packages"]),
            id="a package of two files is one",
        ),
        pytest.param(
            [SOUND, VULNERABLE, HOPELESS],
            (Outcome.VULNERABLE, ["hole 1.0: PYSEC-1, fixed in 1.1, 2.0", "abyss 1.0: PYSEC-2, not fixed yet"]),
            id="findings are named, with the way out",
        ),
        pytest.param(
            [VULNERABLE, SKIPPED],
            (Outcome.VULNERABLE, ["hole 1.0: PYSEC-1, fixed in 1.1, 2.0"]),
            id="a finding counts although something was not looked at",
        ),
        pytest.param(
            [SKIPPED, SKIPPED],
            (Outcome.NOT_AUDITED, ["the index that is asked has no data about vulnerabilities"]),
            id="a mirror that knows none of the packages has audited nothing",
        ),
        pytest.param(
            [SOUND, SKIPPED],
            (Outcome.UNKNOWN_PACKAGES, ["unheard-of: not found"]),
            id="a package that the service should know and does not",
        ),
    ],
)
def test_judges_packages_by_vulnerabilities(
    packages: list[dict[str, Any]], expected: tuple[Outcome, list[str]]
) -> None:
    assert judge({"dependencies": packages}) == expected
