"""What `make soak` calls too slow: the targets of a cold and of a warm call."""

from __future__ import annotations

import pytest

from tests.property.pod_costs import MEASUREMENTS, Times, first_within_targets, worse

FAST = Times(cold=900.0, warm=29.0, plain=3.0)
SLOW_COLD = Times(cold=1_001.0, warm=3.0, plain=3.0)
SLOW_WARM = Times(cold=10.0, warm=31.0, plain=3.0)


@pytest.mark.parametrize(
    ("times", "too_slow"),
    [
        pytest.param(FAST, False, id="within both targets"),
        pytest.param(SLOW_COLD, True, id="a cold call of more than a second"),
        pytest.param(SLOW_WARM, True, id="a warm call of more than ten times a plain pod's"),
        pytest.param(Times(cold=None, warm=30.0, plain=3.0), False, id="a shape that is known"),
    ],
)
def test_misses_a_target(times: Times, too_slow: bool) -> None:
    assert times.too_slow is too_slow


@pytest.mark.parametrize(
    ("measured", "found"),
    [
        pytest.param([FAST], FAST, id="at once"),
        pytest.param([SLOW_COLD, SLOW_WARM, FAST], FAST, id="a machine that others use"),
        pytest.param([SLOW_COLD] * MEASUREMENTS, SLOW_COLD, id="it is slow"),
    ],
)
def test_measures_again_what_is_too_slow(measured: list[Times], found: Times) -> None:
    left = iter(measured)
    assert first_within_targets(lambda: next(left)) == found
    assert list(left) == []


def test_keeps_the_slowest_of_both_kinds_of_call() -> None:
    assert worse(SLOW_COLD, SLOW_WARM) == Times(cold=1_001.0, warm=31.0, plain=3.0)
