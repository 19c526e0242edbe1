"""Adaptation of a writer's pace to the table's capacity."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.dynamodb_table import WritePace


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        pytest.param([1024] * 1000, 500, id="write units of a quarter of a second"),
        pytest.param([65_000] * 100, 8, id="the last item may exceed the limit"),
        pytest.param([350_000, 350_000, 350_000], 2, id="a large item leaves room for another"),
        pytest.param([9_000_000], 1, id="at least one item"),
    ],
)
def test_group_size_matches_a_quarter_second_of_write_capacity(sizes: list[int], count: int) -> None:
    assert min(WritePace(rate=2_000.0).count(sizes), len(sizes)) == count


def test_pace_grows_fast_until_the_table_throttles_and_then_slowly() -> None:
    pace = WritePace(rate=2_000.0)
    pace.adapt(throttled=False)
    assert pace.rate == 3_000.0
    pace.adapt(throttled=True)
    assert pace.rate == pytest.approx(2_100.0)
    pace.adapt(throttled=False)
    assert pace.rate == pytest.approx(2_205.0)


def test_pace_never_drops_to_zero() -> None:
    pace = WritePace()
    for _ in range(100):
        pace.adapt(throttled=True)
    assert pace.rate == 250.0
