"""What is printed about attempts: how many nodes fitted, and why the last attempt or its bind failed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from berth_cli.explanation.attempts import Attempt, Attempts
from berth_cli.explanation.report import history_text
from tests.unit.cli.explanation.cases import recorded

NOW = 1000.0
STALE = "the node cache is of 10:00, older than maxStaleness (180 s); does the watcher run?"


def attempt(at: float, feasible: int | None = 0, error: str = "") -> Attempt:
    outcome = "failure-cache-unavailable" if error else "none-feasible"
    return recorded(at, outcome=outcome, feasible=feasible, error=error)


def attempts(*all: Attempt, bind: Attempt | None = None) -> Attempts:  # noqa: A002
    return Attempts(all, bind)


REFUSED = recorded(NOW - 60, verb="bind", outcome="refused", chosen="n1", error="not allowed")
BOUND = recorded(NOW - 60, verb="bind", outcome="bound", chosen="n1")


@pytest.mark.parametrize(
    ("found", "line"),
    [
        pytest.param(
            attempts(attempt(NOW - 60, None, STALE)), f"The last attempt failed: {STALE}", id="a call that failed"
        ),
        pytest.param(
            attempts(attempt(NOW - 120, 2), bind=REFUSED), "Bind to n1, 1 min ago: failed: not allowed", id="a bind"
        ),
        pytest.param(attempts(attempt(NOW - 120, 2), bind=BOUND), "Bind to n1, 1 min ago: succeeded", id="bound"),
    ],
)
def test_history_says_how_the_last_attempt_went_on(found: Attempts, line: str) -> None:
    lines: Sequence[str] = list(history_text(found, NOW))
    assert line in lines
