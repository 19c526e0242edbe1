"""A clock that a test advances."""

from __future__ import annotations


class HandDrivenClock:
    """Replaces `time.time`, `time.monotonic` and, with `sleep`, `time.sleep`."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
