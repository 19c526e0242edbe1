"""Token buckets by key: a burst, and then one token in each interval."""

from __future__ import annotations

SWEEP_AT = 10_000
"""Buckets. Those that are full again are forgotten then."""


class TokenBuckets:
    """For one thread. Times are seconds on a monotonic clock."""

    def __init__(self, burst: int, refill_seconds: float) -> None:
        self._burst = burst
        self._refill_seconds = refill_seconds
        self._buckets: dict[str, tuple[float, float]] = {}
        """The tokens at a time."""

    def take(self, key: str, now: float) -> bool:
        """Take a token, if the key has one."""
        tokens = self._tokens(key, now)
        if tokens < 1:
            return False
        if len(self._buckets) >= SWEEP_AT:
            self._forget_full(now)
        self._buckets[key] = tokens - 1, now
        return True

    def _forget_full(self, now: float) -> None:
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if self._tokens(key, now) < self._burst}

    def _tokens(self, key: str, now: float) -> float:
        tokens, at = self._buckets.get(key, (float(self._burst), now))
        return min(self._burst, tokens + (now - at) / self._refill_seconds)
