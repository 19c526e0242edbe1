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


def test_it_returns_before_the_api_server_has_answered() -> None:
    slow = SlowQueue()
    queue = BackgroundQueue(slow, lambda _: None)
    queue.wake(["a"])
    assert slow.woken == []
    slow.let.set()
    queue.close()
    assert slow.woken == [("a",)]


def test_what_is_asked_for_while_a_call_is_under_way_is_done_once_with_the_newest() -> None:
    slow = SlowQueue()
    queue = BackgroundQueue(slow, lambda _: None)
    queue.wake(["a"])
    assert slow.asked.wait(10)
    for waiting in ("b", "c", "d"):
        queue.wake([waiting])
    slow.let.set()
    queue.close()
    assert slow.woken == [("a",), ("d",)]


def test_why_nobody_was_woken_is_told_and_the_next_call_tries_again() -> None:
    recording, told = RecordingQueue(), list[str]()
    recording.outage = "forbidden"
    queue = BackgroundQueue(recording, told.append)
    queue.wake(["a"])
    queue.close()
    assert told == ["waiting pods were not woken: forbidden"]
