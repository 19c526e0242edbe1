"""The watcher as it is deployed, for a day of virtual time: the cost of the schedule and of the runs' limits.

`make soak` runs more of these days.
"""

from __future__ import annotations

import pytest

from .nodecache.day import (
    DAY,
    LONGEST_RECOVERY,
    LONGEST_RECOVERY_WITH_STANDBY,
    OLDEST_HEARTBEAT,
    OLDEST_OBSERVATION,
    Day,
    crashing,
    quiet,
)

pytestmark = pytest.mark.long

HOUR = 3600.0
MOST_PAID = 1.25
"""The most billed seconds of all runs per second of the day: the leader, a candidate that waits in the last three
minutes of each run, and the cold starts of unneeded runs."""


def test_data_stays_fresh_across_handovers() -> None:
    """Two starts may be 119 s apart; a start may come twice or be dropped; nothing changes in the cluster."""
    ages = Day(quiet(seed=1)).run()
    assert ages.hand_overs > 90
    assert ages.running < MOST_PAID * DAY
    assert ages.heartbeat <= OLDEST_HEARTBEAT
    assert ages.observed_at <= OLDEST_OBSERVATION


def test_crash_delays_data_until_the_next_start_and_lease_expiry() -> None:
    ages = Day(crashing(seed=1, duration=9 * HOUR)).run()
    assert len(ages.recoveries) > 15
    assert max(ages.recoveries) <= LONGEST_RECOVERY


def test_crash_with_a_standby_delays_data_by_one_lease_duration() -> None:
    ages = Day(crashing(seed=1, duration=8 * HOUR, standby=True)).run()
    assert len(ages.with_standby) > 10
    assert max(ages.with_standby) <= LONGEST_RECOVERY_WITH_STANDBY
    assert max(ages.recoveries, default=0.0) <= LONGEST_RECOVERY
    assert ages.heartbeat <= OLDEST_HEARTBEAT
