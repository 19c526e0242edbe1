"""Scaling of totals to extender scores, 0 to 10: keeps the order first, then the best node, differences, proportion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.scheduling.framework.score_scaling import extender_scale


@pytest.mark.parametrize(
    ("totals", "wanted"),
    [
        pytest.param([], [], id="nothing to score"),
        pytest.param([7], [10], id="one node is the best"),
        pytest.param([5, 5, 5], [10, 10, 10], id="equal nodes are all best"),
        pytest.param([0, 100], [0, 10], id="two nodes get both ends of the range"),
        pytest.param([100, 0, 50], [10, 0, 5], id="in proportion, in the order of the nodes"),
        pytest.param([0, 1, 2, 1000], [0, 1, 2, 10], id="small differences are kept before proportion"),
        pytest.param([0, 998, 999, 1000], [0, 8, 9, 10], id="small differences at the upper end are kept"),
        pytest.param([-10, 0, 10], [0, 5, 10], id="below zero"),
        pytest.param(list(range(11)), list(range(11)), id="eleven different totals: eleven scores"),
        pytest.param(list(range(0, 1200, 100)), [0, 0, *range(1, 11)], id="twelve totals use all eleven scores"),
        pytest.param([*range(11), 1000], [0, 0, *range(1, 11)], id="all values are used: most would round to 0"),
        pytest.param([0, *range(990, 1001)], [*range(10), 9, 10], id="all values are used: most would round to 9"),
        pytest.param(list(range(101)), [min(total // 10, 10) for total in range(101)], id="evenly: in proportion"),
    ],
)
def test_scales_totals_to_extender_scores(totals: list[int], wanted: list[int]) -> None:
    assert extender_scale(totals) == wanted


totals_lists = st.lists(st.integers(-1000, 1000) | st.integers(0, 30), min_size=1, max_size=60)


@given(totals_lists)
def test_scaling_never_reverses_the_order(totals: list[int]) -> None:
    ranked = sorted(zip(totals, extender_scale(totals), strict=True))
    assert [score for _, score in ranked] == sorted(score for _, score in ranked)


@given(totals_lists)
def test_only_the_best_node_gets_ten_and_all_scores_stay_in_the_range(totals: list[int]) -> None:
    scores = extender_scale(totals)
    assert [score == 10 for score in scores] == [total == max(totals) for total in totals]
    assert min(scores) >= 0
    if len(set(totals)) > 1:
        assert min(scores) == 0


@given(totals_lists)
def test_scaling_keeps_up_to_eleven_distinct_scores(totals: list[int]) -> None:
    assert len(set(extender_scale(totals))) == min(len(set(totals)), 11)
