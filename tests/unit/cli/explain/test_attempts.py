"""Attempts to place a pod: since when they are rejected, and what changed since the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from berth_cli.explain.attempts import Attempt, Attempts, RejectedCount, policy_changed, reason_changes


def attempt(
    at: float = 0.0,
    feasible: int | None = 0,
    reasons: Mapping[str, int] | None = None,
    profile: str = "label-priority",
    configuration_hash: str = "",
) -> Attempt:
    counts = [RejectedCount(code, f"reason {code}", "Plugin", count, ()) for code, count in (reasons or {}).items()]
    return Attempt(at, "filter", "none-feasible", profile, configuration_hash, 0.5, 5, feasible, counts)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param({}, {"A": 2}, [("appeared", "A", 0, 2)], id="a reason appeared"),
        pytest.param({"A": 2}, {"A": 5}, [("grew", "A", 2, 5)], id="a reason grew"),
        pytest.param({"A": 5}, {"A": 2}, [("shrank", "A", 5, 2)], id="a reason shrank"),
        pytest.param({"A": 5}, {}, [("disappeared", "A", 5, 0)], id="a reason disappeared"),
        pytest.param({"A": 5, "B": 1}, {"A": 5, "B": 1}, [], id="nothing changed"),
        pytest.param(
            {"A": 5, "B": 1, "C": 1},
            {"D": 1, "B": 3, "C": 1},
            [("appeared", "D", 0, 1), ("grew", "B", 1, 3), ("disappeared", "A", 5, 0)],
            id="reasons that hold now come first",
        ),
    ],
)
def test_reason_changes(
    before: Mapping[str, int], now: Mapping[str, int], expected: Sequence[tuple[str, str, int, int]]
) -> None:
    found = reason_changes(attempt(reasons=before), attempt(reasons=now))
    assert [(each.trend, each.code, each.before, each.now) for each in found] == expected


@pytest.mark.parametrize("failed_first", [True, False])
def test_a_call_that_failed_has_no_reasons_to_compare(failed_first: bool) -> None:
    failed, decided = replace(attempt(), error="the node cache is too old"), attempt(reasons={"A": 2})
    pair = (failed, decided) if failed_first else (decided, failed)
    assert reason_changes(*pair) == []


@pytest.mark.parametrize(
    ("feasible", "since"),
    [
        pytest.param([0, 0, 0], 0.0, id="all are rejected"),
        pytest.param([0, 2, 0, 0], 2.0, id="one passed in between"),
        pytest.param([0, None, 0], 2.0, id="no rule was applied in between"),
        pytest.param([0, 0, 3], 2.0, id="the last one passed"),
    ],
)
def test_rejected_since_the_first_of_the_last_failed_attempts(feasible: Sequence[int | None], since: float) -> None:
    found = Attempts([attempt(float(at), passed) for at, passed in enumerate(feasible)], is_complete=True)
    assert found.rejected_since == since


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(attempt(), False, id="the same"),
        pytest.param(attempt(profile="full"), True, id="another profile"),
        pytest.param(attempt(configuration_hash="a1"), True, id="another configuration"),
    ],
)
def test_policy_changed(other: Attempt, expected: bool) -> None:
    assert policy_changed(attempt(), other) is expected
