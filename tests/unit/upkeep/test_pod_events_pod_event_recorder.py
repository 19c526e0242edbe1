"""Events on pods are aggregated and rate-limited, and the caller neither waits nor fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from threading import Event

import pytest

from berth.upkeep.pod_events import (
    BURST,
    CLOSE_SECONDS,
    MAX_NAME,
    MAX_PENDING,
    PAUSE_SECONDS,
    POD_BURST,
    POD_SECONDS,
    SERIES_SECONDS,
    PodEvent,
    PodEventReason,
    Recorder,
    Series,
    WriteOutcome,
    WriteResult,
)
from tests.fakes.clock import HandDrivenClock
from tests.fakes.pod_events import RecordingPodEvents

DIVERGED = PodEvent("ml", "a", "uid-a", PodEventReason.RESERVATION_DIVERGED, "note")


def of_pod(name: str) -> PodEvent:
    return PodEvent("ml", name, f"uid-{name}", PodEventReason.POD_REDUCED, "note")


class Recording:
    """A recorder, and what it wrote. Each `record` waits until the thread has nothing to do."""

    def __init__(self) -> None:
        self.clock = HandDrivenClock()
        self.writer = RecordingPodEvents()
        self.warnings: list[str] = []
        ids = count(1)
        self.recorder = Recorder(self.writer, self.clock, self.clock, lambda: f"id{next(ids)}", self.warnings.append)

    def record(self, event: PodEvent) -> None:
        self.recorder.record(event)
        self.recorder._thread.submit(lambda: None).result(10)

    @property
    def counts(self) -> list[tuple[str, int]]:
        return [(series.name, series.count) for _, series in self.writer.written]


@pytest.fixture
def recording() -> Iterator[Recording]:
    found = Recording()
    yield found
    found.recorder.close()


def test_repeated_event_increments_the_count_of_one_object(recording: Recording) -> None:
    for _ in range(3):
        recording.clock.advance(SERIES_SECONDS)
        recording.record(DIVERGED)
    assert recording.counts == [("a.id1", 1), ("a.id1", 2), ("a.id1", 3)]
    assert recording.writer.written[-1][1].last_at == recording.clock.now


def test_starts_another_event_object_after_a_pause(recording: Recording) -> None:
    recording.record(DIVERGED)
    recording.clock.advance(SERIES_SECONDS + 1)
    recording.record(DIVERGED)
    assert recording.counts == [("a.id1", 1), ("a.id2", 1)]


def test_creates_another_event_object_if_the_first_is_gone(recording: Recording) -> None:
    recording.record(DIVERGED)
    recording.writer.results = [WriteResult(WriteOutcome.GONE)]
    recording.record(DIVERGED)
    recording.record(DIVERGED)
    assert recording.counts == [("a.id1", 1), ("a.id2", 1), ("a.id2", 2)]


def test_stops_silently_if_the_namespace_is_gone(recording: Recording) -> None:
    recording.writer.results = [WriteResult(WriteOutcome.GONE)]
    recording.record(DIVERGED)
    assert (recording.counts, recording.warnings, recording.writer.calls) == ([], [], 1)


def test_shortens_a_long_pod_name(recording: Recording) -> None:
    recording.record(of_pod("a" * 246 + "-.-" + "a" * 4))
    [(name, _)] = recording.counts
    assert name == "a" * 246 + ".id1"
    assert len(name) <= MAX_NAME


def test_limits_writes_for_one_pod_without_affecting_others(recording: Recording) -> None:
    for number in range(10 * POD_BURST):
        reasons = list(PodEventReason)
        recording.record(PodEvent("ml", "a", "uid-a", reasons[number % len(reasons)], "note"))
    assert recording.writer.calls == POD_BURST
    recording.record(of_pod("b"))
    assert recording.counts[-1][0].startswith("b.")
    recording.clock.advance(POD_SECONDS)
    recording.record(DIVERGED)
    recording.record(DIVERGED)
    assert recording.writer.calls == POD_BURST + 2


def test_limits_writes_for_all_pods_together(recording: Recording) -> None:
    for number in range(2 * BURST):
        recording.record(of_pod(f"pod-{number}"))
    assert recording.writer.calls == BURST


@pytest.mark.parametrize("outcome", [WriteOutcome.REFUSED, WriteOutcome.UNAVAILABLE])
def test_pauses_and_warns_once_if_the_api_server_refuses(recording: Recording, outcome: WriteOutcome) -> None:
    recording.writer.results = [WriteResult(outcome, "not allowed")] * 2
    for _ in range(5):
        recording.record(DIVERGED)
    assert recording.writer.calls == 1
    assert recording.warnings == ["no events are written on pods for 60 s: not allowed"]
    recording.clock.advance(PAUSE_SECONDS)
    recording.record(DIVERGED)
    recording.clock.advance(PAUSE_SECONDS)
    recording.record(DIVERGED)
    assert recording.counts == [("a.id3", 1)]


class SlowPodEvents(RecordingPodEvents):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = Event(), Event()
        self.then: Callable[[], None] = lambda: None

    def write(self, event: PodEvent, series: Series) -> WriteResult:
        self.asked.set()
        assert self.let.wait(10)
        self.then()
        return super().write(event, series)


def test_returns_at_once_while_the_api_server_is_slow_and_merges_later_events() -> None:
    slow, recording = SlowPodEvents(), Recording()
    recorder = Recorder(slow, recording.clock, recording.clock, lambda: "id", recording.warnings.append)
    recorder.record(DIVERGED)
    assert slow.asked.wait(10)
    for _ in range(5):
        recorder.record(DIVERGED)
    for number in range(2 * MAX_PENDING):
        recorder.record(of_pod(f"pod-{number}"))
    assert len(recorder._pending) == MAX_PENDING
    slow.let.set()
    recorder.close()
    assert [series.count for event, series in slow.written if event is DIVERGED] == [1, 6]


def test_drops_pending_events_if_the_run_ends_during_an_outage() -> None:
    slow, recording = SlowPodEvents(), Recording()
    slow.then = lambda: recording.clock.advance(CLOSE_SECONDS)
    recorder = Recorder(slow, recording.clock, recording.clock, lambda: "id", recording.warnings.append)
    for name in ("a", "b", "c"):
        recorder.record(of_pod(name))
    slow.let.set()
    recorder.close()
    assert slow.calls < 3
    recorder.record(of_pod("d"))
    assert slow.calls < 3
