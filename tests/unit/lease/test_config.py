"""The durations of an election."""

from __future__ import annotations

from berth.lease.config import LeaderElectionConfig


def test_defaults_equal_kubernetes_core_components() -> None:
    assert LeaderElectionConfig() == LeaderElectionConfig(lease_duration=15, renew_deadline=10, retry_period=2)
