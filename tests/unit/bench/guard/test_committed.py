"""Costs beside the committed ones: a change that makes a call do more is seen before a clock shows it."""

from __future__ import annotations

import pytest

from tests.bench.guard import counts, ratios
from tests.bench.guard.__main__ import TRIES, judged
from tests.bench.guard.committed import COUNTS, RATIOS, Excess, Values, excesses, read

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def measured() -> Values:
    return counts.measured()


def test_no_count_is_beyond_its_limit(measured: Values) -> None:
    found = [str(each) for each in excesses(measured, read(COUNTS))]
    assert found == [], "python -m tests.bench.guard counts --write commits to the new values"


def test_every_count_has_a_committed_value(measured: Values) -> None:
    assert list(read(COUNTS)) == list(measured)


def test_every_guarded_ratio_has_a_committed_value() -> None:
    assert sorted(read(RATIOS)) == sorted(ratios.GUARDED)


@pytest.mark.parametrize(
    ("name", "committed", "within", "beyond"),
    [
        ("requests.warm.filter.full", 1, 1, 2),
        ("imports.filter", 400, 408, 409),
        ("calls.warm.filter.full", 500, 550, 551),
        ("allocated.warm.filter.full", 1000, 1250, 1251),
        ("bytes.answer.filter", 1000, 1020, 1021),
        ("calls.changed.filter.full", 500, 550, 551),
        ("filter.full.plain.unchanged.5000.ratio", 4.0, 5.6, 5.7),
        ("filter.full.plain.changed.5000.ratio", 4.0, 7.2, 7.3),
    ],
)
def test_limit_is_the_committed_value_and_its_margin(name: str, committed: float, within: float, beyond: float) -> None:
    assert excesses({name: within}, {name: committed}) == []
    assert [each.name for each in excesses({name: beyond}, {name: committed})] == [name]


@pytest.mark.parametrize(
    ("values", "failed"),
    [
        pytest.param([2.5], [], id="within at once"),
        pytest.param([9.0, 2.5], [], id="within at the second try"),
        pytest.param([9.0] * (TRIES - 1) + [7.0], [Excess("x.ratio", 7.0, 2.8)], id="beyond at every try"),
    ],
)
def test_value_beyond_its_limit_is_measured_again(values: list[float], failed: list[Excess]) -> None:
    assert len(values) <= TRIES
    following = iter(values)
    found: list[Excess] = []
    lines = list(judged({"x.ratio": 2.0}, lambda _: {"x.ratio": next(following)}, found))
    assert found == failed
    assert len(lines) == 1
    assert list(following) == []
