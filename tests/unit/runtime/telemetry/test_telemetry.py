"""One log line and one set of metrics per call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

import pytest

from berth.authentication.outcomes import AuthorizerOutcome
from berth.extender.outcomes import BindOutcome, FailureOutcome, FilterOutcome
from berth.runtime.telemetry.telemetry import Telemetry
from berth.scheduling.reason_code import ReasonCode
from tests.fakes.log_lines import LogLines
from tests.unit.runtime.telemetry.metric_lines import described, printed


def test_logs_decision_as_one_info_line_with_constant_keys(log_lines: LogLines) -> None:
    Telemetry("bind").ended(BindOutcome.BOUND, pod="ml/train-0", detail="on n10", milliseconds=1.23456, failed=False)
    [line] = log_lines.all()
    assert {key: line[key] for key in ("level", "verb", "outcome", "pod", "detail", "milliseconds", "service")} == {
        "level": "INFO",
        "verb": "bind",
        "outcome": "bound",
        "pod": "ml/train-0",
        "detail": "on n10",
        "milliseconds": 1.235,
        "service": "berth",
    }


def test_logs_unexpected_exception_as_error_with_stack_trace(log_lines: LogLines) -> None:
    try:
        raise ZeroDivisionError("the cause")
    except ZeroDivisionError:
        Telemetry("filter").exception("unexpected exception", "ml/train-0")
    [line] = log_lines.all()
    assert (line["level"], line["verb"], line["pod"]) == ("ERROR", "filter", "ml/train-0")
    assert "test_telemetry.py" in line["exception"]
    assert "the cause" in line["exception"]


def test_log_line_does_not_contain_fields_of_the_previous_call(log_lines: LogLines) -> None:
    telemetry = Telemetry("filter")
    telemetry.ended(FailureOutcome.BAD_REQUEST, pod="ml/first", detail="d", milliseconds=0, failed=True)
    telemetry.ended(FailureOutcome.INTERNAL, pod="", detail="", milliseconds=0, failed=True)
    assert [(line["pod"], line["detail"]) for line in log_lines.all()] == [("ml/first", "d"), ("", "")]


def test_emits_calls_and_duration_by_verb_and_outcome(metrics: pytest.CaptureFixture[str]) -> None:
    Telemetry("bind").ended(BindOutcome.BOUND, pod="ml/p", detail="", milliseconds=12.5, failed=False)
    [entry] = printed(metrics)
    by = [["stack", "verb", "outcome"], ["stack", "verb"]]
    assert described(entry) == {"Calls": ("Count", by), "Duration": ("Milliseconds", by)}
    assert (entry["verb"], entry["outcome"], entry["Calls"], entry["Duration"]) == ("bind", "bound", [1.0], [12.5])


def test_counts_calls_without_a_feasible_node_by_main_reason_code(metrics: pytest.CaptureFixture[str]) -> None:
    Telemetry("filter").ended(
        FilterOutcome.NONE_FEASIBLE,
        pod="ml/p",
        detail="",
        milliseconds=1,
        failed=False,
        reason_code=ReasonCode.PRIORITY_LABEL_MISSING,
    )
    [entry] = printed(metrics)
    assert described(entry)["NoNodeFits"] == ("Count", [["stack", "verb", "reasonCode"]])
    assert (entry["reasonCode"], entry["NoNodeFits"]) == ("PriorityLabelMissing", [1.0])


def test_distinguishes_two_stacks_of_one_account(
    metrics: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stack in ("berth-one", "berth-two"):
        monkeypatch.setenv("BERTH_STACK", stack)
        Telemetry("bind").ended(BindOutcome.BOUND, pod="", detail="", milliseconds=1, failed=False)
    assert [entry["stack"] for entry in printed(metrics)] == ["berth-one", "berth-two"]


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        pytest.param(FailureOutcome.INTERNAL, {"Failures"}, id="any failure is counted as Failures"),
        pytest.param(AuthorizerOutcome.WRONG_CREDENTIALS, set(), id="a denial is a 4xx of the API"),
        pytest.param(AuthorizerOutcome.UNAVAILABLE, {"Failures"}, id="an authorizer without a record is a failure"),
        pytest.param(FilterOutcome.NONE_FEASIBLE, set(), id="a policy decision is not counted"),
        pytest.param(BindOutcome.INSUFFICIENT, set(), id="a ledger decision is not counted"),
    ],
)
def test_emits_one_stack_metric_for_each_alarm(
    metrics: pytest.CaptureFixture[str], outcome: StrEnum, counted: set[str]
) -> None:
    Telemetry("verb").ended(outcome, pod="", detail="", milliseconds=1, failed=bool(counted))
    [entry] = printed(metrics)
    found = described(entry)
    assert found.keys() - {"Calls", "Duration"} == counted
    assert all(entry[name] == [1.0] and ["stack"] in found[name][1] for name in counted)


def test_counts_concurrent_calls_separately(metrics: pytest.CaptureFixture[str]) -> None:
    def end(verb: str) -> None:
        Telemetry(verb).ended(BindOutcome.BOUND, pod="", detail="", milliseconds=1, failed=False)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(end, [f"verb-{index}" for index in range(32)]))
    entries = printed(metrics)
    assert {entry["verb"] for entry in entries} == {f"verb-{index}" for index in range(32)}
    assert all(entry["Calls"] == [1.0] for entry in entries)
