"""TableCalls: a call of the table is repeated once, and never begins with too little time left."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from berth.bind.share import TableCalls
from berth.dynamodb import TableUnavailable
from berth.scheduling.evaluation.time_limit import DeadlineExceeded

CALL_SECONDS = 0.5


class Calls:
    """Fails the given number of times, then returns its number of calls."""

    def __init__(self, failures: int) -> None:
        self._failures = failures
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        if self.made <= self._failures:
            raise TableUnavailable("no answer")
        return self.made


def remaining(*seconds: float) -> Callable[[], float]:
    """Return a function that returns the next of these remaining times in each call."""
    left = list(seconds)
    return lambda: left.pop(0)


@pytest.mark.parametrize(
    ("left", "failures", "made"),
    [
        pytest.param([0.49], 0, 0, id="too little time before the first call"),
        pytest.param([0.5, 0.49], 1, 1, id="too little time before the second call"),
    ],
)
def test_raises_deadline_exceeded_if_too_little_time_is_left(left: Sequence[float], failures: int, made: int) -> None:
    calls, call = TableCalls(remaining(*left), CALL_SECONDS), Calls(failures)
    with pytest.raises(DeadlineExceeded):
        calls.with_retry(call)
    assert call.made == made


@pytest.mark.parametrize(
    ("failures", "repeated"),
    [
        pytest.param(0, False, id="a response is not requested again"),
        pytest.param(1, True, id="one lost response is retried"),
    ],
)
def test_repeats_a_call_once_if_the_response_is_missing(failures: int, repeated: bool) -> None:
    calls, call = TableCalls(remaining(0.5, 0.5), CALL_SECONDS), Calls(failures)
    assert calls.with_retry(call) == failures + 1
    assert calls.repeated is repeated


def test_raises_table_unavailable_after_two_calls_without_response() -> None:
    calls, call = TableCalls(remaining(0.5, 0.5), CALL_SECONDS), Calls(2)
    with pytest.raises(TableUnavailable):
        calls.with_retry(call)
    assert call.made == 2
