"""Options that several commands have: durations in Go's notation."""

from __future__ import annotations

import pytest

from berth_cli.terminal.options import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("5s", 5.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="parts add up"),
        pytest.param("1.5h", 5400.0, id="fractions"),
        pytest.param(".5s", 0.5, id="a fraction without a whole"),
        pytest.param("250ms", 0.25, id="ms is not minutes"),
        pytest.param("0", 0.0, id="zero needs no unit"),
        pytest.param("5", None, id="a number needs a unit"),
        pytest.param("5 s", None, id="space between number and unit"),
        pytest.param("5sec", None, id="unknown unit"),
        pytest.param("-5s", None, id="negative"),
        pytest.param("", None, id="empty"),
    ],
)
def test_parses_valid_and_rejects_invalid_durations(text: str, seconds: float | None) -> None:
    found = parse_duration(text)
    assert found == (None if seconds is None else pytest.approx(seconds))
