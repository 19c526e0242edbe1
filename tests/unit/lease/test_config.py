"""What an election may be configured to be."""

from __future__ import annotations

import math

import pytest

from berth.lease.config import LeaderElectionConfig, LeaderElectionConfigInvalid


def test_defaults_equal_kubernetes_core_components() -> None:
    assert LeaderElectionConfig() == LeaderElectionConfig(
        lease_duration=15, renew_deadline=10, retry_period=2, leader_elect=True
    )


@pytest.mark.parametrize(
    ("durations", "message"),
    [
        pytest.param((15, 15, 2), "leaseDuration (15) must exceed renewDeadline (15)", id="lease equals deadline"),
        pytest.param((15, 16, 2), "leaseDuration (15) must exceed renewDeadline (16)", id="lease below deadline"),
        pytest.param(
            (15, 12, 10), "renewDeadline (12) must exceed 1.2 times retryPeriod (10)", id="deadline equals 1.2 retries"
        ),
        pytest.param(
            (15, 11, 10), "renewDeadline (11) must exceed 1.2 times retryPeriod (10)", id="deadline below 1.2 retries"
        ),
        pytest.param((15, 10, 0), "retryPeriod (0) must be positive", id="retry period of zero"),
        pytest.param((15, 10, -1), "retryPeriod (-1) must be positive", id="negative retry period"),
        pytest.param((15.5, 10, 2), "leaseDuration (15.5) must be a whole number of seconds", id="half a second"),
        pytest.param((math.inf, 10, 2), "leaseDuration (inf) must be a whole number of seconds", id="endless"),
        pytest.param(
            (0, -5, -9),
            "leaseDuration (0) must be positive\n"
            "renewDeadline (-5) must be positive\n"
            "retryPeriod (-9) must be positive",
            id="each rule has its own line",
        ),
        pytest.param(
            (15, math.nan, 2),
            "leaseDuration (15) must exceed renewDeadline (nan)\n"
            "renewDeadline (nan) must exceed 1.2 times retryPeriod (2)\n"
            "renewDeadline (nan) must be positive",
            id="not a number",
        ),
    ],
)
def test_rejects_invalid_durations(durations: tuple[float, float, float], message: str) -> None:
    with pytest.raises(LeaderElectionConfigInvalid) as refused:
        LeaderElectionConfig(*durations)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "durations",
    [
        pytest.param((15, 14.999, 2), id="deadline just below the lease"),
        pytest.param((15, 12.001, 10), id="deadline just above 1.2 retries"),
        pytest.param((1, 0.5, 0.1), id="the shortest lease"),
    ],
)
def test_accepts_smallest_valid_durations(durations: tuple[float, float, float]) -> None:
    assert LeaderElectionConfig(*durations).lease_duration == durations[0]
