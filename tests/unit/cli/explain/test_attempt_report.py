"""What is printed about attempts: the verdict from records alone, and why the last attempt or its bind failed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from berth_cli.explain.attempt_report import history_text, records_document, records_text
from berth_cli.explain.attempts import Attempt, Attempts, BindAttempt

NOW = 1000.0
STALE = "the node cache is of 10:00, older than maxStaleness (180 s); does the watcher run?"


def attempt(at: float, feasible: int | None = 0, error: str = "") -> Attempt:
    outcome = "failure-cache-unavailable" if error else "none-feasible"
    return Attempt(at, "filter", outcome, "full", "", 0.5, 5, feasible, (), error)


def attempts(*all: Attempt, bind: BindAttempt | None = None) -> Attempts:  # noqa: A002
    return Attempts(all, is_complete=True, bind=bind)


REFUSED = BindAttempt(NOW - 60, "refused", "n1", "not allowed")
BOUND = BindAttempt(NOW - 60, "bound", "n1", "")


@pytest.mark.parametrize(
    ("found", "headline", "verdict", "node"),
    [
        pytest.param(
            attempts(attempt(NOW - 120)),
            "pending for 2 min: Berth rejects all 5 nodes that the scheduler asked about",
            "pending",
            None,
            id="rejected",
        ),
        pytest.param(
            attempts(attempt(NOW - 120), attempt(NOW - 60, None, STALE)),
            f"pending for 2 min: Berth cannot decide (failure-cache-unavailable): {STALE}",
            "pending",
            None,
            id="a call that failed",
        ),
        pytest.param(
            attempts(attempt(NOW - 120, 2), bind=REFUSED),
            "pending: its bind to n1 failed 1 min ago: not allowed",
            "pending",
            None,
            id="a bind that failed",
        ),
        pytest.param(
            attempts(attempt(NOW - 120, 2), bind=BOUND), "was bound to n1 1 min ago", "placed", "n1", id="bound"
        ),
        pytest.param(
            attempts(attempt(NOW - 120, 2)),
            "2 min ago Berth passed 2 of 5 nodes that the scheduler asked about",
            "placeable",
            None,
            id="passed",
        ),
    ],
)
def test_records_alone_begin_with_the_verdict(found: Attempts, headline: str, verdict: str, node: str | None) -> None:
    assert next(records_text("ml", "p", found, NOW)) == f"ml/p: {headline}"
    document = records_document("ml", "p", found)
    assert (document["verdict"], document["node"]) == (verdict, node)


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
