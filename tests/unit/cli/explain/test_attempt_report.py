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


@pytest.mark.parametrize(
    ("last", "row"),
    [
        pytest.param(attempt(NOW - 60), "1 min 0 5 none-feasible full", id="rejected"),
        pytest.param(attempt(NOW - 60, 2), "1 min 2 5 none-feasible full", id="passed"),
        pytest.param(attempt(NOW - 60, None), "1 min all 5 none-feasible full", id="no rule was applied"),
        pytest.param(
            attempt(NOW - 60, None, STALE), "1 min - - failure-cache-unavailable full", id="the call failed: none fits"
        ),
    ],
)
def test_history_shows_how_many_nodes_fit(last: Attempt, row: str) -> None:
    lines = [" ".join(line.split()) for line in history_text(attempts(last), NOW)]
    assert lines[1:3] == ["AGO FIT NODES OUTCOME PROFILE", row]


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        pytest.param(
            attempt(NOW - 120),
            attempt(NOW - 60, None, STALE),
            ["Since the attempt before:", "  - the call failed; the one before decided"],
            id="the last failed",
        ),
        pytest.param(
            attempt(NOW - 120, None, STALE),
            attempt(NOW - 60),
            ["Since the attempt before:", f"  - the call before failed: {STALE}"],
            id="the one before failed",
        ),
        pytest.param(
            attempt(NOW - 120, None, "x"),
            attempt(NOW - 60, None, STALE),
            ["Since the attempt before:", "  - the call before failed for another reason: x"],
            id="both failed",
        ),
        pytest.param(
            attempt(NOW - 120, None, STALE),
            attempt(NOW - 60, None, STALE),
            ["Nothing changed since the attempt before."],
            id="both failed for one reason",
        ),
    ],
)
def test_history_compares_a_failed_call_by_its_cause(before: Attempt, now: Attempt, lines: Sequence[str]) -> None:
    assert list(history_text(attempts(before, now), NOW))[-len(lines) :] == lines
