"""The lease's contract once more, over a real connection; `store` is this folder's."""

from tests.contract.test_lease_acquisition import (
    TestExpiry,
    TestItem,
    TestLostAnswers,
    TestRaces,
    TestUpstreamAcquire,
)
from tests.contract.test_lease_fencing import TestPausedFlush, TestPublishing
from tests.contract.test_lease_leadership import TestRenewal, TestRenewDeadline, TestUpstreamRenewal
from tests.contract.test_lease_lock import TestLeaseLock, TestPublication
from tests.contract.test_lease_release import TestHandOver, TestRelease, TestUpstreamRelease

__all__ = [
    "TestExpiry",
    "TestHandOver",
    "TestItem",
    "TestLeaseLock",
    "TestLostAnswers",
    "TestPausedFlush",
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
