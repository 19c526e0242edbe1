"""When a call has to end."""

from __future__ import annotations

import math
from collections.abc import Callable

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
