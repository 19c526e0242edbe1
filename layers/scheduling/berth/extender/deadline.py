"""The end of a call's time."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]


class Deadline:
    """When the whole bind must have ended: about a second before the scheduler's httpTimeout (fact 23)."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds left, 0 when the time is over."""
        return max(0.0, self._end - self._clock())
