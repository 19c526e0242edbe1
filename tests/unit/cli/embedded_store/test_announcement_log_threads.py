"""The log of announcements in memory, used by many threads at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

import pytest

from berth.ledger.announcements import Announcement
from berth_cli.embedded_store import announcement_log
from berth_cli.embedded_store.announcement_log import InMemoryAnnouncementLog
from tests.builders.announcements import announcement

if TYPE_CHECKING:
    from _typeshed import TraceFunction

WORKERS, POSITIONS = 16, range(1, 51)
ANNOUNCEMENT = announcement(until=100.0)
PATIENCE_SECONDS = 60

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _changes_between_threads_at_each_line_of_the_log() -> Iterator[None]:
    """The interpreter's own switch interval changes too seldom: an operation takes a microsecond."""

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        if frame.f_code.co_filename != announcement_log.__file__:
            return None
        if event == "line":
            time.sleep(0)  # another thread runs
        return trace

    before = threading.gettrace()
    threading.settrace(trace)
    yield
    threading.settrace(before)


def _at_once(call: Callable[[int, Barrier], T]) -> list[T]:
    """The results of a call by each worker, with its number. All begin together, and can wait for each other."""
    together = Barrier(WORKERS)

    def one(number: int) -> T:
        together.wait(PATIENCE_SECONDS)
        try:
            return call(number, together)
        except BaseException:
            together.abort()
            raise

    with ThreadPoolExecutor(WORKERS) as threads:
        return list(threads.map(one, range(WORKERS), timeout=PATIENCE_SECONDS))


def _announcements(attempt: str) -> list[Announcement]:
    """One for each position."""
    return [replace(ANNOUNCEMENT, position=position, attempt=f"{attempt}-{position}") for position in POSITIONS]


def test_one_of_many_appends_to_a_position_takes_it_for_good() -> None:
    """Each worker appends to every position, as binds do that are refused. Every second one withdraws what it took."""
    log, written = InMemoryAnnouncementLog(), [_announcements(str(number)) for number in range(WORKERS)]

    def bind(number: int, _: Barrier) -> list[Announcement]:
        taken = [each for each in written[number] if log.append(each)]
        for each in taken if number % 2 else ():
            log.withdraw(each.position, each.attempt)
        return [replace(each, withdrawn=number % 2 == 1) for each in taken]

    taken = [each for found in _at_once(bind) for each in found]

    assert sorted(taken, key=lambda each: each.position) == list(log.read(1))
    assert [each.position for each in log.read(1)] == list(POSITIONS)


def test_trimmed_announcement_does_not_come_back_and_disturbs_no_reader() -> None:
    logs = [InMemoryAnnouncementLog() for _ in POSITIONS]
    for log in logs:
        log.append(ANNOUNCEMENT)

    def use(number: int, together: Barrier) -> None:
        for log in logs:
            together.wait(PATIENCE_SECONDS)
            if number == 0:
                log.trim(ANNOUNCEMENT.position + 1, until=ANNOUNCEMENT.until + 1)
            elif number % 2:
                log.withdraw(ANNOUNCEMENT.position, ANNOUNCEMENT.attempt)
            else:
                log.read(ANNOUNCEMENT.position)

    _at_once(use)

    assert [list(log.read(1)) for log in logs] == [[]] * len(logs)
