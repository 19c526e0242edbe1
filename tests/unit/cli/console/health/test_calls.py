"""Calls over time: how long intervals are, and what each one says."""

from __future__ import annotations

import pytest

from berth_cli.console.health.calls import MOST_INTERVALS, SECONDS, Call, calls_over_time

NOW = 36_000.0


def call(seconds_ago: float, milliseconds: float = 1.0, verb: str = "filter") -> Call:
    return Call(NOW - seconds_ago, verb, milliseconds)


def test_no_calls_are_nothing() -> None:
    assert calls_over_time([], NOW) is None


@pytest.mark.parametrize(
    ("oldest", "seconds"),
    [
        pytest.param(0.0, 1, id="a call just now"),
        pytest.param(58.0, 1, id="a minute"),
        pytest.param(61.0, 2, id="more than a minute"),
        pytest.param(290.0, 5, id="five minutes"),
        pytest.param(3500.0, 60, id="an hour"),
        pytest.param(10_000_000.0, 600, id="months"),
    ],
)
def test_interval_is_the_shortest_with_which_all_calls_fit(oldest: float, seconds: int) -> None:
    found = calls_over_time([call(oldest), call(0.0)], NOW)
    assert found is not None
    assert found.seconds == seconds
    assert len(found.verbs["filter"].count) <= MOST_INTERVALS


def test_each_call_is_in_one_interval_up_to_the_longest_time() -> None:
    for oldest in (0.5, 30.0, 59.9, 60.0, 600.0, 3_599.0, SECONDS[-1] * (MOST_INTERVALS - 1) - 1.0):
        calls = [call(oldest * part / 20) for part in range(21)]
        found = calls_over_time(calls, NOW)
        assert found is not None
        assert sum(found.verbs["filter"].count) == len(calls), oldest


def test_interval_has_the_number_the_median_and_the_slowest_call() -> None:
    found = calls_over_time([call(2.5, 5.0), call(2.4, 1.0), call(2.3, 3.0), call(0.0, 8.0)], NOW)
    assert found is not None
    assert (found.since, found.seconds) == (NOW - 3, 1)
    assert found.verbs["filter"].count == (3, 0, 0, 1)
    assert found.verbs["filter"].median == (3.0, 0.0, 0.0, 8.0)
    assert found.verbs["filter"].slowest == (5.0, 0.0, 0.0, 8.0)


def test_verbs_have_the_same_intervals() -> None:
    found = calls_over_time([call(3.0), call(1.0, verb="bind")], NOW)
    assert found is not None
    assert list(found.verbs) == ["bind", "filter"]
    assert found.verbs["bind"].count == (0, 0, 1, 0)


def test_call_stays_in_its_interval_when_time_goes_on() -> None:
    calls = [call(30.0), call(0.3)]
    first, second = calls_over_time(calls, NOW), calls_over_time(calls, NOW + 0.9)
    assert first is not None
    assert second is not None
    assert (first.since, first.verbs["filter"].count) == (second.since, second.verbs["filter"].count)


def test_call_of_the_future_is_left_out() -> None:
    # The clock of another machine may be ahead.
    assert calls_over_time([call(-5.0)], NOW) is None
