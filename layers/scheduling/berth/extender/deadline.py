"""The deadline of a call, and reads for which the call waits only until its deadline.

A client's timeouts are fixed when it is created, and limit a wait for bytes, not a whole request. So a read runs in a
thread. A late read continues in the thread, ends by its client's timeouts, and may still fill an in-memory cache. A
store in the same process is never late, so its reads do not need a thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

Clock = Callable[[], float]

ANSWER_SECONDS = 0.1
"""Seconds to encode and send the answer after the decision."""


class Deadline:
    """The end of a call, about a second before the scheduler's timeout, so that the answer arrives in time (facts 5,
    23)."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        """End the call `seconds` from now. `clock`: monotonic, in seconds."""
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Return the seconds left; 0 after the deadline."""
        return max(0.0, self._end - self._clock())

    def earlier(self, seconds: float) -> Deadline:
        """Return a deadline that is this many seconds earlier."""
        return Deadline(self.remaining() - seconds, self._clock)

    def decision_seconds(self) -> float:
        return max(0.0, self.remaining() - ANSWER_SECONDS)


NO_DEADLINE = Deadline(math.inf, lambda: 0.0)
"""A deadline that never passes, for calls without a waiting caller such as a warm-up event."""

PASSED = Deadline(0.0, lambda: 0.0)
"""A deadline that has passed, so that tables are no longer read."""


MAX_THREADS = 64
"""Maximum number of threads of one BoundedReads, started on demand. Further reads wait for a free thread, which counts
against their deadline."""

T = TypeVar("T")


class DeadlinePassed(Exception):
    """The call has to answer without this read."""


class BoundedReads:
    """Runs the reads of a call. After the deadline a read does not start; without a deadline it runs in the caller's
    thread. Thread-safe. is_never_late: whether the store is in this process; then every read runs in the caller's
    thread."""

    def __init__(self, *, is_never_late: bool = False) -> None:
        self._is_never_late = is_never_late
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="read")

    def before(self, deadline: Deadline, read: Callable[[], T]) -> T:
        """Call `read` and return its result. Raises its exceptions, or DeadlinePassed if it takes too long. `read` must
        be thread-safe."""
        remaining = deadline.remaining()
        if self._is_never_late or math.isinf(remaining):
            return read()
        if not remaining:
            raise DeadlinePassed
        reading = self._threads.submit(copy_context().run, read)
        if not wait([reading], remaining).done:
            raise DeadlinePassed
        return reading.result()
