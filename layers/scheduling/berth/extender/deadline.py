"""When a call has to end.

A client's timeouts are fixed when it is created, and they limit a wait for bytes and not a request. So the read runs in
a thread. A read that is late goes on there, ends by its client's timeouts, and may still fill what is kept in memory.
A store in the same process is never late, and there each call would pay for the thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

Clock = Callable[[], float]

ANSWER_SECONDS = 0.1
"""To encode and send the answer, after the decision."""


class Deadline:
    """About a second before the scheduler stops to wait, so that it still gets an answer (facts 5 and 23)."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        """`seconds` from now; `clock`: monotonic, in seconds."""
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds left; 0 after the deadline."""
        return max(0.0, self._end - self._clock())

    def earlier(self, seconds: float) -> Deadline:
        """One that keeps so many seconds for what follows."""
        return Deadline(self.remaining() - seconds, self._clock)

    def decision_seconds(self) -> float:
        return max(0.0, self.remaining() - ANSWER_SECONDS)


NO_DEADLINE = Deadline(math.inf, lambda: 0.0)
"""Where nobody waits: a warm-up event."""

PASSED = Deadline(0.0, lambda: 0.0)
"""Where nothing may be read any more."""


MAX_THREADS = 64
"""More than one process answers calls at once. They start when they are needed."""

T = TypeVar("T")


class DeadlinePassed(Exception):
    """The call has to answer without this read."""


class BoundedReads:
    """How a call reads. After the deadline nothing is read; without one, a read runs in the same thread. Safe to share
    between threads."""

    def __init__(self, *, is_never_late: bool = False) -> None:
        """is_never_late: the store is in this process, so every read runs in the same thread."""
        self._is_never_late = is_never_late
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="read")

    def before(self, deadline: Deadline, read: Callable[[], T]) -> T:
        """Return what `read` returns, or raise what it raises; DeadlinePassed where that takes too long. `read` must be
        safe to share between threads."""
        remaining = deadline.remaining()
        if self._is_never_late or math.isinf(remaining):
            return read()
        if not remaining:
            raise DeadlinePassed
        reading = self._threads.submit(copy_context().run, read)
        if not wait([reading], remaining).done:
            raise DeadlinePassed
        return reading.result()
