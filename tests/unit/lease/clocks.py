"""Clocks of several environments, each of which can be frozen or set."""

from __future__ import annotations

from berth.lease.clock import Clock

AT = 1_700_000_000.0


class EnvironmentClock(Clock):
    def __init__(self, wall: float = AT) -> None:
        self._monotonic = 100.0
        self._wall = wall

    def monotonic(self) -> float:
        return self._monotonic

    def wall(self) -> float:
        return self._wall

    def advance(self, seconds: float) -> None:
        self._monotonic += seconds
        self._wall += seconds

    def freeze(self, seconds: float) -> None:
        """Let time pass while the environment is frozen: the monotonic clock stands still."""
        self._wall += seconds

    def set_wall(self, by: float) -> None:
        """Shift the wall clock by this many seconds, without any time passing."""
        self._wall += by
