"""The three forms of the figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from berth_cli.bench.measurement import CallOutcome, Times, Verb, VerbFigures
from berth_cli.bench.report import Report, document, markdown, table

NONE = Times(0, None, None, None, None)
GOOD = VerbFigures(
    Verb.FILTER,
    first=Times(1, 812.4, 812.4, 812.4, 812.4),
    warm=Times(100, 11.2, 14.0, 20.5, 31.0),
    burst=NONE,
    answer_bytes=2048,
    outcomes={CallOutcome.ANSWERED: 101},
    detail="",
    throttled_in_burst=0,
)
THROTTLED = VerbFigures(
    Verb.PRIORITIZE,
    first=NONE,
    warm=NONE,
    burst=NONE,
    answer_bytes=0,
    outcomes={CallOutcome.THROTTLED: 3, CallOutcome.ANSWERED: 2},
    detail="status 429",
    throttled_in_burst=0,
)
BEYOND_THE_QUOTA = replace(
    GOOD,
    burst=Times(10, 900.0, 950.0, 990.0, 990.0),
    outcomes={CallOutcome.ANSWERED: 108, CallOutcome.THROTTLED: 3},
    detail="status 503",
    throttled_in_burst=3,
)


def report(*verbs: VerbFigures) -> Report:
    return Report("https://one.example/scheduler", 21.0, 2, 100, 0, verbs)


def test_table_has_a_line_for_each_verb() -> None:
    lines = list(table(report(GOOD)))
    assert lines[0].endswith("2 node names each. A new TLS connection takes 21 ms.")
    assert lines[-1].split() == ["filter", "812.4", "11.2", "14.0", "20.5", "31.0", "-", "-", "2.0", "KB", "0"]


def test_table_names_calls_without_an_answer() -> None:
    assert list(table(report(GOOD, THROTTLED)))[-1] == "prioritize: 3 throttled: status 429"
    assert not report(GOOD, THROTTLED).answered
    assert report(GOOD).answered


def test_a_burst_beyond_the_quota_is_reported_and_no_failure() -> None:
    measured = report(BEYOND_THE_QUOTA)
    assert measured.answered
    lines = list(markdown(measured))
    assert lines[-1] == "filter: 3 throttled: status 503. Of them 3 in the burst, which is no failure."
    found: dict[str, Any] = document(measured)
    assert found["verbs"][0]["throttledInBurst"] == 3


def test_what_is_throttled_before_the_burst_is_a_failure() -> None:
    assert not report(replace(BEYOND_THE_QUOTA, throttled_in_burst=2)).answered


def test_markdown_has_the_same_cells() -> None:
    lines = list(markdown(report(GOOD)))
    assert lines[-1] == "| filter | 812.4 | 11.2 | 14.0 | 20.5 | 31.0 | - | - | 2.0 KB | 0 |"
    assert lines[-2].count("---") == lines[-1].count("|") - 1


def test_json_has_null_where_no_call_was_answered() -> None:
    found: dict[str, Any] = document(report(GOOD, THROTTLED))
    assert found["verbs"][0]["warm"] == {"calls": 100, "p50": 11.2, "p90": 14.0, "p99": 20.5, "most": 31.0}
    assert found["verbs"][1]["first"]["p50"] is None
    assert found["verbs"][1]["outcomes"]["throttled"] == 3
