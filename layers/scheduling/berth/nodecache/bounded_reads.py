"""Reads that a call waits for until its deadline and no longer.

A client's timeouts are fixed when it is created, and they limit a wait for bytes and not a request. So the read runs in
a thread. A read that is late goes on there, ends by its client's timeouts, and may still fill what is kept in memory.
A store in the same process is never late, and there each call would pay for the thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Protocol, TypeVar

from berth.extender.deadline import Deadline

MAX_THREADS = 64
"""More than one process answers calls at once. They start when they are needed."""

T = TypeVar("T")


class DeadlinePassed(Exception):
    """The call has to answer without this read."""


class Reads(Protocol):
    """How a call reads. Safe to share between threads."""

    def before(self, deadline: Deadline, read: Callable[[], T]) -> T:
        """What `read` returns or raises; DeadlinePassed where that takes too long. `read` must be safe to share between
        threads."""
        ...


class ImmediateReads(Reads):
    """Of a store that is never late."""

    def before(self, deadline: Deadline, read: Callable[[], T]) -> T:
        return read()


class BoundedReads(Reads):
    """Of a store behind a network. After the deadline nothing is read; without one, a read runs in the same thread."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="read")

    def before(self, deadline: Deadline, read: Callable[[], T]) -> T:
        remaining = deadline.remaining()
        if math.isinf(remaining):
            return read()
        if not remaining:
            raise DeadlinePassed
        reading = self._threads.submit(copy_context().run, read)
        if not wait([reading], remaining).done:
            raise DeadlinePassed
        return reading.result()
