"""Expectations of a simulation."""

from __future__ import annotations

import pytest

from berth_cli.simulate.expectations import Expectation, Figure, InvalidExpectation, read_expectation

FIGURES = {Figure.PENDING: 3}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        pytest.param("pending=3", True, id="equal"),
        pytest.param("pending=2", False, id="not equal"),
        pytest.param("pending<=3", True, id="at most"),
        pytest.param("pending<=2", False, id="more than at most"),
        pytest.param("pending>=3", True, id="at least"),
        pytest.param("pending>=4", False, id="less than at least"),
        pytest.param("pending<4", True, id="below"),
        pytest.param("pending<3", False, id="not below"),
        pytest.param("pending > 2", True, id="above, with spaces"),
        pytest.param("pending>3", False, id="not above"),
    ],
)
def test_holds_as_its_relation_says(text: str, holds: bool) -> None:
    assert read_expectation(text).holds(FIGURES) is holds


def test_is_written_as_it_is_read() -> None:
    assert read_expectation("newly-pending <= 0") == Expectation(Figure.NEWLY_PENDING, "<=", 0)
    assert str(read_expectation("newly-pending <= 0")) == "newly-pending<=0"


@pytest.mark.parametrize("text", ["", "pending", "pending=", "pending==3", "pending<=-1", "waiting=3", "pending<=3x"])
def test_rejects_what_is_no_expectation(text: str) -> None:
    with pytest.raises(InvalidExpectation, match="give FIGURE, one of = < > <= >=, and a number"):
        read_expectation(text)
