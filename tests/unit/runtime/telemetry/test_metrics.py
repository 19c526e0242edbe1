"""Metrics of the node cache's freshness in the verbs."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from berth.authentication.outcomes import AuthorizerOutcome
from berth.extender.outcomes import BindOutcome, FailureOutcome, FilterOutcome, PreemptOutcome, PrioritizeOutcome
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.runtime.telemetry.metrics import OLD_SECONDS, CacheMetrics, Metrics, measured_call, record_slow_call
from berth.runtime.telemetry.telemetry import Telemetry
from berth.runtime.telemetry.watcher_metrics import WatcherMetrics
from berth.runtime.watcher.background import INTERVAL_SECONDS as WARM_UP_SECONDS
from berth.runtime.watcher.scheduler_access import SchedulerAccess
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType
from tests.fakes.credential_stores import InMemoryAllowList
from tests.fakes.log_lines import LogLines
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.runtime.telemetry.metric_lines import described, printed, series
from tests.unit.runtime.watcher.test_undecided_pods import CREATED_AT, pod


def test_counts_a_fallback_configuration_as_a_failure(metrics: pytest.CaptureFixture[str]) -> None:
    CacheMetrics("filter", time.time).fell_back()
    [line] = printed(metrics)
    assert described(line) == {"Failures": ("Count", [["stack"]])}
    assert line["Failures"] == [1.0]


READERS = ("filter", "filter_onlyone", "prioritize", "preempt")
OUTCOMES = {
    **dict.fromkeys(("filter", "filter_onlyone"), FilterOutcome),
    "prioritize": PrioritizeOutcome,
    "preempt": PreemptOutcome,
    "bind": BindOutcome,
    "authorizer": AuthorizerOutcome,
}


@pytest.fixture
def lines(metrics: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> pytest.CaptureFixture[str]:
    monkeypatch.setenv("BERTH_DETAILED_METRICS", "false")
    return metrics


def call(verb: str, outcome: Any, seconds_left: float = 4.0) -> None:
    telemetry = Telemetry(verb)
    with measured_call():
        if verb in READERS:
            CacheMetrics(verb, time.time).record(1.5)
        record_slow_call(seconds_left, http_timeout=5.0)
        telemetry.ended(outcome, pod="ml/p", detail="", milliseconds=1, failed=outcome.startswith("failure-"))


def test_emits_at_most_ten_metrics_in_any_case(lines: pytest.CaptureFixture[str]) -> None:
    for verb, outcomes in OUTCOMES.items():
        for outcome in (*outcomes, *FailureOutcome):
            call(verb, outcome, seconds_left=0.0)
    clock = EnvironmentClock()
    watcher = WatcherMetrics(clock.wall)
    watcher.published(clock.wall(), is_incomplete=True)
    expired = InMemoryAllowList("5eed5eed5eed5e1f until 1970-01-01T00:00:00Z")
    access = SchedulerAccess({"berth"}, lambda: expired, Metrics(), lambda: CREATED_AT + 60)
    objects = {("pods", "ml/a"): pod("a").object or {}}
    access.published(Publication(1, (), objects, True, Observation("cluster", {}), {}))
    access.step()
    for event_type in ReservationEventType:
        watcher.happened(ReservationEvent(event_type, "n1", "ml/train-0"))
    watcher.close()
    assert series(printed(lines)) == {
        ("CacheAge", "local"),
        ("Calls", "local", "bind", "ledger-unavailable"),
        ("DaysToExpiry", "local"),
        ("Failures", "local"),
        ("PublishedAge", "local"),
        ("Reservations", "local", "outranked"),
        ("Reservations", "local", "owed"),
        ("SlowCalls", "local"),
        ("UndecidedAge", "local"),
    }


@pytest.mark.parametrize("detailed", ["true", "false"])
@pytest.mark.parametrize("verb", OUTCOMES)
def test_writes_one_line_per_call(
    lines: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: str, detailed: str
) -> None:
    monkeypatch.setenv("BERTH_DETAILED_METRICS", detailed)
    call(verb, FailureOutcome.INTERNAL)
    [line] = lines.readouterr().out.splitlines()
    assert '"milliseconds"' in line
    assert '"Failures"' in line


def test_call_without_a_metric_writes_a_plain_line(log_lines: LogLines, lines: pytest.CaptureFixture[str]) -> None:
    call("bind", BindOutcome.BOUND)
    [line] = lines.readouterr().out.splitlines()
    assert "_aws" not in line


def test_metrics_do_not_depend_on_the_log_level(lines: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("berth").setLevel(logging.WARNING)  # log_lines sets it back
    call("filter", FilterOutcome.FEASIBLE)
    [entry] = printed(lines)
    assert "pod" not in entry
    assert series([entry]) == {("CacheAge", "local")}


def test_warm_up_events_write_one_line_per_minute_with_the_oldest_data(lines: pytest.CaptureFixture[str]) -> None:
    """The alarm needs one value a period; six lines a minute would be the largest part of an idle stack's logs."""
    clock = EnvironmentClock()
    metrics = CacheMetrics("filter", clock.wall)
    minutes: dict[int, list[float]] = {}
    for event in range(60):
        metrics.record(80.0 if event == 20 else 1.0)
        for entry in printed(lines):
            minutes.setdefault(event // 6, []).extend(entry["CacheAge"])
        clock.advance(WARM_UP_SECONDS)
    assert sorted(minutes) == list(range(10))
    assert max(map(len, minutes.values())) <= 2
    assert sorted(age for ages in minutes.values() for age in ages)[-2:] == [1.0, 80.0]


def test_warm_up_event_that_finds_old_data_writes_a_line_at_once(lines: pytest.CaptureFixture[str]) -> None:
    clock = EnvironmentClock()
    metrics = CacheMetrics("filter", clock.wall)
    for age in (1.0, OLD_SECONDS, OLD_SECONDS + 10, 1.0):
        metrics.record(age)
        clock.advance(WARM_UP_SECONDS)
    assert [entry["CacheAge"] for entry in printed(lines)] == [[1.0], [OLD_SECONDS], [OLD_SECONDS + 10]]
