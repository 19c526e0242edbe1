"""A record, remembered in a warm environment for a bounded time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """What was read counts for `max_age` seconds from before it was read, and not a moment longer, even while it cannot
    be read again.

    By wall time: the monotonic clock of an environment that is frozen between two calls may stand still.
    """

    def __init__(self, read: Callable[[], T], wall: Callable[[], float], max_age: float) -> None:
        self._read = read
        self._wall = wall
        self._max_age = max_age
        self._known: tuple[float, T] | None = None

    def value(self) -> T:
        """Raises what reading raises."""
        return self.not_older_than(self._max_age)

    def not_older_than(self, seconds: float) -> T:
        """Raises what reading raises."""
        now, known = self._wall(), self._known
        # A clock that was set back makes it old, not young.
        if known is not None and 0 <= now - known[0] < seconds:
            return known[1]
        value = self._read()
        self._known = (now, value)
        return value
