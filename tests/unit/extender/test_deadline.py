"""The time that a call waits for a read."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar

import pytest

from berth.extender.deadline import NO_DEADLINE, PASSED, BoundedReads, Deadline, DeadlinePassed

ATTRIBUTE: ContextVar[str] = ContextVar("attribute", default="")


def in_ten_seconds() -> Deadline:
    return Deadline(10, time.monotonic)


def test_returns_the_value_if_it_is_read_in_time() -> None:
    assert BoundedReads().before(in_ten_seconds(), lambda: 1) == 1


def test_raises_the_exception_of_the_read() -> None:
    with pytest.raises(ZeroDivisionError):
        BoundedReads().before(in_ten_seconds(), lambda: 1 / 0)


def test_does_not_wait_beyond_the_deadline() -> None:
    answered, read = threading.Event(), threading.Event()

    def late() -> None:
        answered.wait(10)
        read.set()

    with pytest.raises(DeadlinePassed):
        BoundedReads().before(Deadline(0.05, time.monotonic), late)
    assert not read.is_set()
    answered.set()
    assert read.wait(10)


def test_does_not_start_a_read_after_the_deadline() -> None:
    calls: list[int] = []
    with pytest.raises(DeadlinePassed):
        BoundedReads().before(PASSED, lambda: calls.append(1))
    assert calls == []


def test_reads_in_the_same_thread_without_a_deadline() -> None:
    assert BoundedReads().before(NO_DEADLINE, threading.get_ident) == threading.get_ident()


def test_store_without_network_is_read_in_the_same_thread() -> None:
    assert BoundedReads(is_never_late=True).before(in_ten_seconds(), threading.get_ident) == threading.get_ident()


def test_read_runs_in_the_context_of_its_call() -> None:
    token = ATTRIBUTE.set("trace")
    assert BoundedReads().before(in_ten_seconds(), ATTRIBUTE.get) == "trace"
    ATTRIBUTE.reset(token)
