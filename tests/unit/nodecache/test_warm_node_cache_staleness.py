"""The reason for data that is too old names its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.nodecache.feed.head import Observation, Pointer, Position, PublishedVersion, in_every_part
from berth.nodecache.warm_node_cache import CLOCKS_DIFFER, NO_NEWS, NOT_RUNNING, StalenessReason
from tests.unit.lease.clocks import EnvironmentClock

MAX_STALENESS = 60.0


def pointer_at(heartbeat: float, observed_at: float) -> Pointer:
    observation = Observation("cluster", {"nodes": Position("1", observed_at, observed_at)})
    return Pointer(1, 1, in_every_part(PublishedVersion(1, 1)), None, 0, 0, observation, heartbeat, "0.1.0")


@pytest.mark.parametrize(
    ("heartbeat_age", "cause"),
    [
        pytest.param(1.0, NO_NEWS, id="a watcher that published a second ago"),
        pytest.param(-1.0, NO_NEWS, id="a watcher whose clock is a second ahead"),
        pytest.param(-300.0, CLOCKS_DIFFER, id="a publication from the future"),
        pytest.param(300.0, NOT_RUNNING, id="an old publication"),
    ],
)
def test_reason_names_the_cause_by_heartbeat_age(heartbeat_age: float, cause: str) -> None:
    clock = EnvironmentClock()
    now = clock.wall()
    pointer = pointer_at(now - heartbeat_age, now - 1000)
    assert StalenessReason(clock).reason(pointer, MAX_STALENESS).endswith(f"(60 s); {cause}")


def test_new_heartbeat_with_an_old_time_means_that_clocks_differ() -> None:
    """The clock of this process is 1,000 s ahead of the watcher's."""
    clock = EnvironmentClock()
    staleness = StalenessReason(clock)
    pointer = pointer_at(clock.wall() - 1000, clock.wall() - 1000)
    staleness.note(pointer)
    assert staleness.reason(pointer, MAX_STALENESS).endswith(NOT_RUNNING)
    clock.advance(2)
    published = replace(pointer, heartbeat=pointer.heartbeat + 2)
    staleness.note(published)
    assert staleness.reason(published, MAX_STALENESS).endswith(CLOCKS_DIFFER)
    clock.advance(60)
    assert staleness.reason(published, MAX_STALENESS).endswith(NOT_RUNNING)


def test_new_heartbeat_after_a_long_pause_does_not_mean_that_clocks_differ() -> None:
    clock = EnvironmentClock()
    staleness = StalenessReason(clock)
    pointer = pointer_at(clock.wall() - 1000, clock.wall() - 1000)
    staleness.note(pointer)
    clock.advance(3600)
    published = replace(pointer, heartbeat=pointer.heartbeat + 2)
    staleness.note(published)
    assert staleness.reason(published, MAX_STALENESS).endswith(NOT_RUNNING)
