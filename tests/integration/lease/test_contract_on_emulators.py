"""The contract tests of the lease over a real connection, with the `store` of this folder."""

import re
from pathlib import Path

from tests.contract.lease.test_acquisition import TestEpochFloor, TestExpiry, TestUpstreamAcquire
from tests.contract.lease.test_contention import TestItem, TestLostAnswers, TestRaces
from tests.contract.lease.test_fencing import TestPublishing
from tests.contract.lease.test_leadership import TestRenewal, TestRenewDeadline, TestUpstreamRenewal
from tests.contract.lease.test_lock import TestLeaseLock, TestPublication
from tests.contract.lease.test_release import TestHandOver, TestRelease, TestUpstreamRelease

__all__ = [
    "TestEpochFloor",
    "TestExpiry",
    "TestHandOver",
    "TestItem",
    "TestLeaseLock",
    "TestLostAnswers",
    "TestPublication",
    "TestPublishing",
    "TestRaces",
    "TestRelease",
    "TestRenewDeadline",
    "TestRenewal",
    "TestUpstreamAcquire",
    "TestUpstreamRelease",
    "TestUpstreamRenewal",
]

CONTRACT = Path(__file__).parents[2] / "contract" / "lease"


def test_every_contract_class_also_runs_on_the_emulators() -> None:
    texts = [file.read_text() for file in CONTRACT.glob("test_*.py")]
    assert set(re.findall(r"^class (Test\w+)", "\n".join(texts), re.MULTILINE)) == set(__all__)
