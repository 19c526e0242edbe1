"""Two clocks, because each alone can be wrong.

The monotonic clock stands still while a Lambda environment is frozen; the wall clock can be set. So the time since an
instant is a range, and every rule uses the end of the range at which an error does no harm.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instant:
    """Both clocks, read together; in seconds."""

    monotonic: float
    wall: float

    def longest_since(self, earlier: Instant) -> float:
        """For this process's own lease. Too short only if the process freezes and the clock is set back."""
        return max(self.monotonic - earlier.monotonic, self.wall - earlier.wall)

    def shortest_since(self, earlier: Instant) -> float:
        """For another's lease, which must not be acquired too early. Never more than the time that has passed."""
        return min(self.monotonic - earlier.monotonic, self.wall - earlier.wall)


class Clock(ABC):
    """Where the time comes from."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds since some point; never goes back, may stand still."""

    @abstractmethod
    def wall(self) -> float:
        """Seconds since the epoch; may jump either way."""

    def now(self) -> Instant:
        return Instant(self.monotonic(), self.wall())


class SystemClock(Clock):
    """The clocks of this process."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()
