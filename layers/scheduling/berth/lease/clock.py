"""A monotonic and a wall clock, because each of them can be wrong.

The monotonic clock stops while a Lambda environment is frozen; the wall clock can be set. So the time since an instant
is a range, and every rule uses the end of the range that is safe.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instant:
    """The times of both clocks, read together; in seconds."""

    monotonic: float
    wall: float

    def longest_since(self, earlier: Instant) -> float:
        """Return the longest possible time since `earlier`, for this process's own lease. The result is too short only
        if the process freezes and the wall clock is set back."""
        return max(self.monotonic - earlier.monotonic, self.wall - earlier.wall)

    def shortest_since(self, earlier: Instant) -> float:
        """Return the shortest possible time since `earlier`, for another holder's lease, which must not be acquired too
        early. The result never exceeds the time that has passed."""
        return min(self.monotonic - earlier.monotonic, self.wall - earlier.wall)


class Clock(ABC):
    @abstractmethod
    def monotonic(self) -> float:
        """Return the seconds since an arbitrary point; the value never goes back, but may stop."""

    @abstractmethod
    def wall(self) -> float:
        """Return the seconds since the epoch; the value may jump in both directions."""

    def now(self) -> Instant:
        return Instant(self.monotonic(), self.wall())


class SystemClock(Clock):
    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()
