"""Waking the queue without making the thread that publishes wait."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

from berth.scheduling_queue.queue import BackgroundQueue
from tests.fakes.cluster import RecordingQueue


class SlowQueue(RecordingQueue):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = Event()
        self.let = Event()

    def wake(self, waiting: Sequence[str]) -> None:
        self.asked.set()
        assert self.let.wait(10)
        super().wake(waiting)


def test_returns_before_api_server_answers() -> None:
    slow = SlowQueue()
    queue = BackgroundQueue(slow, lambda _: None)
    queue.wake(["a"])
    assert slow.woken == []
    slow.let.set()
    queue.close()
    assert slow.woken == [("a",)]


def test_merges_requests_during_a_call_into_one_with_the_newest() -> None:
    slow = SlowQueue()
    queue = BackgroundQueue(slow, lambda _: None)
    queue.wake(["a"])
    assert slow.asked.wait(10)
    for waiting in ("b", "c", "d"):
        queue.wake([waiting])
    slow.let.set()
    queue.close()
    assert slow.woken == [("a",), ("d",)]


def test_reports_failed_wake_up_and_retries_at_next_call() -> None:
    recording, warnings = RecordingQueue(), list[str]()
    recording.outage = "forbidden"
    queue = BackgroundQueue(recording, warnings.append)
    queue.wake(["a"])
    queue.close()
    assert warnings == ["waiting pods were not woken: forbidden"]
