"""Metrics of the watcher's work."""

from __future__ import annotations

from collections import Counter

import pytest

from berth.runtime.telemetry.telemetry import Observer, current_observer, observed_by
from berth.runtime.telemetry.watcher_metrics import INTERVAL_SECONDS, WatcherMetrics
from berth.scheduling.gangs.gang import GangKey
from berth.upkeep.gangs import GangEvent, GangEventType
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


def test_emits_first_publication_immediately(
    watcher: WatcherMetrics, clock: EnvironmentClock, metrics: pytest.CaptureFixture[str]
) -> None:
    watcher.published(5000, clock.wall() - 2)
    [line] = printed(metrics)
    assert described(line) == {
        "Publications": ("Count", BY_STACK),
        "Changes": ("Count", BY_STACK),
        "PublishedAge": ("Seconds", BY_STACK),
    }
    assert (line["Publications"], line["Changes"], line["PublishedAge"]) == ([1.0], [5000.0], [2.0])


def test_emits_one_sum_per_minute_with_publications(
    watcher: WatcherMetrics, clock: EnvironmentClock, metrics: pytest.CaptureFixture[str]
) -> None:
    for _ in range(120):
        watcher.published(2, clock.wall() - 1)
        clock.advance(0.5)
    watcher.close()
    lines = printed(metrics)
    assert sum(line["Publications"][0] for line in lines) == 120
    assert sum(line["Changes"][0] for line in lines) == 240
    assert 60 / INTERVAL_SECONDS <= len(lines) <= 60 / INTERVAL_SECONDS + 2


def test_emits_age_of_the_oldest_publication(
    watcher: WatcherMetrics, clock: EnvironmentClock, metrics: pytest.CaptureFixture[str]
) -> None:
    watcher.published(1, clock.wall())
    for age in (1, 40, 3):
        watcher.published(0, clock.wall() - age)
    watcher.close()
    assert [line["PublishedAge"] for line in printed(metrics)] == [[0.0], [40.0]]


def test_emits_maximum_number_of_omitted_objects_per_interval(
    watcher: WatcherMetrics, clock: EnvironmentClock, metrics: pytest.CaptureFixture[str]
) -> None:
    watcher.published(1, clock.wall())
    for left_out in (0, 3, 1):
        watcher.published(0, clock.wall(), left_out)
    watcher.close()
    [line] = [line for line in printed(metrics) if "LeftOut" in line]
    assert described(line) == {"LeftOut": ("Count", BY_STACK), "Failures": ("Count", BY_STACK)}
    assert (line["LeftOut"], line["Failures"]) == ([3.0], [1.0])


def test_counts_failures_while_objects_are_omitted(
    watcher: WatcherMetrics,
    clock: EnvironmentClock,
    metrics: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BERTH_DETAILED_METRICS", "false")
    watcher = WatcherMetrics(clock.wall)
    for left_out in (0, 2, 2, 0):
        clock.advance(INTERVAL_SECONDS)
        watcher.published(0, clock.wall(), left_out)
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
    assert all(described(line) == {"Reservations": ("Count", [["stack", "happening"], ["stack"]])} for line in lines)
    assert not {"n1", "ml/train-0"} & {value for line in lines for value in line.values() if isinstance(value, str)}


def test_counts_gang_events_and_commit_durations(watcher: WatcherMetrics, metrics: pytest.CaptureFixture[str]) -> None:
    key = GangKey("ml", "train")
    for event in (
        GangEvent(GangEventType.OPENED, key),
        GangEvent(GangEventType.COMMITTED, key, 4, 0.5),
        GangEvent(GangEventType.COMMITTED, key, 4, 1.5),
    ):
        watcher.gang(event)
    watcher.close()
    *counts, times = printed(metrics)
    assert Counter({line["happening"]: line["Gangs"][0] for line in counts}) == {"committed": 2, "opened": 1}
    assert described(times) == {"GangCommitTime": ("Seconds", BY_STACK)}
    assert times["GangCommitTime"] == [0.5, 1.5]


@pytest.mark.parametrize("detailed", ["false", "true"])
def test_gang_observer_gets_events_at_every_metrics_level(
    clock: EnvironmentClock, monkeypatch: pytest.MonkeyPatch, detailed: str
) -> None:
    monkeypatch.setenv("BERTH_DETAILED_METRICS", detailed)
    told: list[GangEvent] = []
    with observed_by(Observer(gang=told.append)):
        observer = current_observer().gang
    event = GangEvent(GangEventType.DEGRADED, GangKey("ml", "train"))
    WatcherMetrics(clock.wall, on_gang=observer).gang(event)
    assert told == [event]


def test_counts_lease_transition(watcher: WatcherMetrics, metrics: pytest.CaptureFixture[str]) -> None:
    watcher.became_leader()
    [line] = printed(metrics)
    assert described(line) == {"LeaseTransitions": ("Count", BY_STACK)}
    assert line["LeaseTransitions"] == [1.0]


def test_does_not_emit_metrics_without_events(watcher: WatcherMetrics, metrics: pytest.CaptureFixture[str]) -> None:
    watcher.close()
    assert printed(metrics) == []
