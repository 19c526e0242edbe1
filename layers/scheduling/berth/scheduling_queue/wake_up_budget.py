"""Limits the wake-ups for one pod, because a wake-up makes the scheduler retry all rejected pods.

Without it, a pod that never fits wakes all others with every change of the cluster, for as long as it exists.
"""

from __future__ import annotations

from collections.abc import Collection

BURST = 10
"""Wake-ups for a pod that was not woken for long."""

REFILL_SECONDS = 10.0
"""Between two wake-ups for a pod whose burst is spent: kube-scheduler's own podMaxBackoffSeconds by default."""


class WakeUpBudget:
    """A token bucket for each waiting pod. A pod that leaves keeps its bucket until it is full again."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, waiting: Collection[str], now: float) -> bool:
        """Whether one of these pods has a wake-up left. `now`: seconds on a monotonic clock."""
        return any(self._tokens(pod, now) >= 1 for pod in waiting)

    def spend(self, waiting: Collection[str], now: float) -> None:
        """All of these pods were woken."""
        self._buckets = {pod: (tokens, now) for pod in self._buckets if (tokens := self._tokens(pod, now)) < BURST}
        for pod in waiting:
            self._buckets[pod] = max(0.0, self._tokens(pod, now) - 1), now

    def _tokens(self, pod: str, now: float) -> float:
        tokens, at = self._buckets.get(pod, (BURST, now))
        return min(BURST, tokens + (now - at) / REFILL_SECONDS)
