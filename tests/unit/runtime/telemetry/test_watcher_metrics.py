"""Metrics of the watcher's work."""

from __future__ import annotations

from collections import Counter

import pytest

from berth.runtime.telemetry.watcher_metrics import INTERVAL_SECONDS, WatcherMetrics
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.runtime.telemetry.metric_lines import described, printed

BY_STACK = [["stack"]]


@pytest.fixture
def clock() -> EnvironmentClock:
    return EnvironmentClock()


@pytest.fixture
def watcher(clock: EnvironmentClock, metrics: object) -> WatcherMetrics:
    return WatcherMetrics(clock.wall)


def test_emits_several_ages_per_minute_starting_immediately(
    watcher: WatcherMetrics, clock: EnvironmentClock, metrics: pytest.CaptureFixture[str]
) -> None:
    watcher.published(clock.wall() - 2)
    [first] = printed(metrics)
    assert described(first) == {"PublishedAge": ("Seconds", BY_STACK)}
    assert first["PublishedAge"] == [2.0]
    for _ in range(120):
        clock.advance(0.5)
        watcher.published(clock.wall() - 1)
    assert len(printed(metrics)) == 60 / INTERVAL_SECONDS


def test_emits_age_of_the_oldest_publication(
    watcher: WatcherMetrics, clock: EnvironmentClock, metrics: pytest.CaptureFixture[str]
) -> None:
    watcher.published(clock.wall())
    for age in (1, 40, 3):
        watcher.published(clock.wall() - age)
    watcher.close()
    assert [line["PublishedAge"] for line in printed(metrics)] == [[0.0], [40.0]]


def test_counts_failures_while_objects_are_omitted(
    watcher: WatcherMetrics,
    clock: EnvironmentClock,
    metrics: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BERTH_DETAILED_METRICS", "false")
    watcher = WatcherMetrics(clock.wall)
    for is_incomplete in (False, True, True, False):
        clock.advance(INTERVAL_SECONDS)
        watcher.published(clock.wall(), is_incomplete=is_incomplete)
    watcher.close()
    lines = [line for line in printed(metrics) if "Failures" in line]
    assert [described(line) for line in lines] == [{"Failures": ("Count", BY_STACK)}] * 2
    assert [line["Failures"] for line in lines] == [[1.0]] * 2


def test_reservation_events_are_counted_by_type(watcher: WatcherMetrics, metrics: pytest.CaptureFixture[str]) -> None:
    for event_type in (ReservationEventType.CONFIRMED, ReservationEventType.OWED, ReservationEventType.CONFIRMED):
        watcher.happened(ReservationEvent(event_type, "n1", "ml/train-0"))
    watcher.close()
    lines = printed(metrics)
    assert Counter({line["happening"]: line["Reservations"][0] for line in lines}) == {"confirmed": 2, "owed": 1}
    assert all(described(line) == {"Reservations": ("Count", [["stack", "happening"]])} for line in lines)
    assert not {"n1", "ml/train-0"} & {value for line in lines for value in line.values() if isinstance(value, str)}


def test_does_not_emit_metrics_without_events(watcher: WatcherMetrics, metrics: pytest.CaptureFixture[str]) -> None:
    watcher.close()
    assert printed(metrics) == []
