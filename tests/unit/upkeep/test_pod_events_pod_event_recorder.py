"""Events on pods are rate-limited, and the caller neither waits nor fails."""

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
    REPEAT_SECONDS,
    SECONDS,
    PodEvent,
    PodEventReason,
    Recorder,
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
    def names(self) -> list[str]:
        """Of the objects that it created."""
        return [name for _, name in self.writer.written]


@pytest.fixture
def recording() -> Iterator[Recording]:
    found = Recording()
    yield found
    found.recorder.close()


def test_same_reason_of_a_pod_is_written_once_in_six_minutes(recording: Recording) -> None:
    for _ in range(3):
        recording.record(DIVERGED)
        recording.clock.advance(REPEAT_SECONDS / 3)
    recording.record(of_pod("a"))
    assert [event.reason for event, _ in recording.writer.written] == [DIVERGED.reason, PodEventReason.POD_REDUCED]
    recording.record(DIVERGED)
    assert recording.names == ["a.id1", "a.id2", "a.id3"]


def test_shortens_a_long_pod_name(recording: Recording) -> None:
    recording.record(of_pod("a" * 246 + "-.-" + "a" * 4))
    [name] = recording.names
    assert name == "a" * 246 + ".id1"
    assert len(name) <= MAX_NAME


def test_limits_writes_for_all_pods_together(recording: Recording) -> None:
    for number in range(2 * BURST):
        recording.record(of_pod(f"pod-{number}"))
    assert recording.writer.calls == BURST
    recording.clock.advance(2 * SECONDS)
    for number in range(2 * BURST, 3 * BURST):
        recording.record(of_pod(f"pod-{number}"))
    assert recording.writer.calls == BURST + 2


def test_pauses_and_warns_once_if_the_api_server_refuses(recording: Recording) -> None:
    recording.writer.causes = ["not allowed"] * 2
    for _ in range(5):
        recording.record(DIVERGED)
    assert recording.writer.calls == 1
    assert recording.warnings == ["no events are written on pods for 60 s: not allowed"]
    recording.clock.advance(PAUSE_SECONDS)
    recording.record(DIVERGED)
    recording.clock.advance(PAUSE_SECONDS)
    recording.record(DIVERGED)
    assert recording.names == ["a.id3"]


class SlowPodEvents(RecordingPodEvents):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = Event(), Event()
        self.then: Callable[[], None] = lambda: None

    def write(self, event: PodEvent, name: str, at: float) -> str:
        self.asked.set()
        assert self.let.wait(10)
        self.then()
        return super().write(event, name, at)


def test_returns_at_once_while_the_api_server_is_slow() -> None:
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
    assert [event for event, _ in slow.written].count(DIVERGED) == 1


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
