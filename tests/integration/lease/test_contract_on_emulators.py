"""The contract tests of the lease over a real connection, with the `store` of this folder."""

from tests.contract.lease.test_acquisition import TestExpiry, TestUpstreamAcquire
from tests.contract.lease.test_contention import TestItem, TestLostAnswers, TestRaces
from tests.contract.lease.test_fencing import TestPausedFlush, TestPublishing
from tests.contract.lease.test_leadership import TestRenewal, TestRenewDeadline, TestUpstreamRenewal
from tests.contract.lease.test_lock import TestLeaseLock, TestPublication
from tests.contract.lease.test_release import TestHandOver, TestRelease, TestUpstreamRelease

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
