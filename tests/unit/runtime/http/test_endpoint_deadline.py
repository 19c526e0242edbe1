"""When a call has to end: by the gateway's clock, within what a wrong clock may do."""

from __future__ import annotations

import pytest

from berth.runtime.http.events import LONGEST_WAIT_SECONDS, RESERVE_SECONDS, call_deadline
from tests.unit.lease.clocks import EnvironmentClock

HTTP_TIMEOUT = 5.0


def received(seconds_ago: float, clock: EnvironmentClock) -> dict[str, object]:
    """An event of a request that the gateway got then, by its clock."""
    return {"requestContext": {"timeEpoch": round((clock.wall() - seconds_ago) * 1000)}}


@pytest.mark.parametrize(
    ("age", "remaining"),
    [
        pytest.param(0.0, 4.0, id="just arrived"),
        pytest.param(0.25, 3.75, id="an authorizer and a warm start"),
        pytest.param(3.5, 0.5, id="a cold start"),
        pytest.param(4.0, 0.0, id="the reserve has begun"),
        pytest.param(10.0, 0.0, id="the scheduler has given up"),
        pytest.param(LONGEST_WAIT_SECONDS, 0.0, id="the gateway still waits"),
        pytest.param(LONGEST_WAIT_SECONDS + 1, 4.0, id="the clocks differ"),
        pytest.param(86400.0, 4.0, id="an event from yesterday"),
        pytest.param(-0.2, 4.0, id="an event from the future"),
        pytest.param(-86400.0, 4.0, id="an event from tomorrow"),
    ],
)
def test_deadline_counts_from_the_gateways_time_within_bounds(age: float, remaining: float) -> None:
    clock = EnvironmentClock()
    deadline = call_deadline(received(age, clock), HTTP_TIMEOUT, clock)
    assert deadline.remaining() == pytest.approx(remaining, abs=0.002)


@pytest.mark.parametrize("skew", [-3600.0, -31.0, -5.0, -0.001, 0.0, 0.001, 5.0, 29.0, 31.0, 3600.0])
def test_deadline_is_never_later_than_one_counted_from_the_handler(skew: float) -> None:
    clock = EnvironmentClock()
    assert call_deadline(received(skew, clock), HTTP_TIMEOUT, clock).remaining() <= HTTP_TIMEOUT - RESERVE_SECONDS


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"requestContext": None},
        {"requestContext": {}},
        {"requestContext": {"timeEpoch": None}},
        {"requestContext": {"timeEpoch": "1700000000000"}},
        {"requestContext": {"timeEpoch": float("nan")}},
    ],
)
def test_deadline_counts_from_the_handler_if_the_event_has_no_time(event: dict[str, object]) -> None:
    assert call_deadline(event, HTTP_TIMEOUT, EnvironmentClock()).remaining() == 4.0


def test_deadline_uses_the_monotonic_clock() -> None:
    """Setting the wall clock during the call neither ends nor extends it."""
    clock = EnvironmentClock()
    deadline = call_deadline(received(1.0, clock), HTTP_TIMEOUT, clock)
    clock.advance(1.5)
    assert deadline.remaining() == pytest.approx(1.5, abs=0.002)
