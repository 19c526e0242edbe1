"""How long to wait before the next attempt: longer each time, up to a limit, and never all at the same moment."""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """`jitter` gives a share between 0 and 1 that is added to each wait. Seconds."""

    def __init__(
        self, jitter: Callable[[], float], *, first: float = 0.5, factor: float = 2.0, longest: float = 8.0
    ) -> None:
        self._jitter = jitter
        self._first = first
        self._factor = factor
        self._longest = longest
        self._next = first

    def next(self) -> float:
        """The wait before the attempt that comes now."""
        wait, self._next = self._next, min(self._next * self._factor, self._longest)
        return wait * (1 + self._jitter())

    def reset(self) -> None:
        """An attempt succeeded."""
        self._next = self._first
