"""What a report of pip-audit comes to."""

from __future__ import annotations

from typing import Any

import pytest

from tools.supply_chain.audit import Audit, Outcome, judge

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
VULNERABLE = {"name": "hole", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}]}
HOPELESS = {"name": "abyss", "version": "1.0", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}
SKIPPED = {"name": "unheard-of", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        pytest.param([SOUND, SOUND], Audit(Outcome.CLEAN, ("1 packages",)), id="a package of two files is one"),
        pytest.param(
            [SOUND, VULNERABLE, HOPELESS],
            Audit(Outcome.VULNERABLE, ("hole 1.0: PYSEC-1, fixed in 1.1, 2.0", "abyss 1.0: PYSEC-2, not fixed yet")),
            id="findings are named, with the way out",
        ),
        pytest.param(
            [VULNERABLE, SKIPPED],
            Audit(Outcome.VULNERABLE, ("hole 1.0: PYSEC-1, fixed in 1.1, 2.0",)),
            id="a finding counts although something was not looked at",
        ),
        pytest.param(
            [SKIPPED, SKIPPED],
            Audit(Outcome.NOT_AUDITED, ("the index that is asked has no data about vulnerabilities",)),
            id="a mirror that knows none of the packages has audited nothing",
        ),
        pytest.param(
            [SOUND, SKIPPED],
            Audit(Outcome.UNKNOWN_PACKAGES, ("unheard-of: not found",)),
            id="a package that the service should know and does not",
        ),
    ],
)
def test_judges_packages_by_vulnerabilities(packages: list[dict[str, Any]], expected: Audit) -> None:
    assert judge({"dependencies": packages}) == expected


@pytest.mark.parametrize(
    ("outcome", "offline_ok", "status"),
    [
        pytest.param(Outcome.CLEAN, 0, 0, id="clean"),
        pytest.param(Outcome.VULNERABLE, 1, 1, id="a finding fails"),
        pytest.param(Outcome.UNKNOWN_PACKAGES, 1, 1, id="an unknown package fails"),
        pytest.param(Outcome.NOT_AUDITED, 0, 1, id="an unreachable service fails unless offline is allowed"),
    ],
)
def test_exit_status_depends_on_outcome(outcome: Outcome, offline_ok: int, status: int) -> None:
    audit = Audit(outcome)
    assert (audit.exit_status(offline_ok=True), audit.exit_status(offline_ok=False)) == (offline_ok, status)
