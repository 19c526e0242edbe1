"""Why the published data is too old: the watcher does not run, it hears nothing, or the clocks differ."""

from __future__ import annotations

from datetime import UTC, datetime

from berth.lease.clock import Clock
from berth.nodecache.feed.head import Pointer

RECENT_SECONDS = 10.0
"""Several heartbeats of the watcher."""

NOT_RUNNING = "does the watcher run?"
NO_NEWS = "the watcher publishes but hears nothing from the API server, or a clock was set"
CLOCKS_DIFFER = "the watcher publishes: its clock and the one of this process differ"


class StalenessReason:
    """Sees each pointer that a process reads. Safe to share between threads: a lost update delays CLOCKS_DIFFER."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: tuple[float, float] | None = None
        self._published_at: float | None = None

    def note(self, pointer: Pointer) -> None:
        """Remember by this process's own clock when a new heartbeat appeared."""
        now, seen = self._clock.monotonic(), self._seen
        if seen is not None and seen[0] != pointer.heartbeat and now - seen[1] <= RECENT_SECONDS:
            self._published_at = now
        self._seen = pointer.heartbeat, now

    def reason(self, pointer: Pointer, max_staleness: float) -> str:
        """The reason in the same words from call to call: another text would wake the pod again (fact 17)."""
        at = datetime.fromtimestamp(pointer.observation.observed_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"the node cache is of {at}, older than maxStaleness ({max_staleness:g} s); {self._cause(pointer)}"

    def _cause(self, pointer: Pointer) -> str:
        heartbeat_age = self._clock.wall() - pointer.heartbeat
        if abs(heartbeat_age) <= RECENT_SECONDS:
            return NO_NEWS
        saw_publication = (
            self._published_at is not None and self._clock.monotonic() - self._published_at <= RECENT_SECONDS
        )
        return CLOCKS_DIFFER if saw_publication or heartbeat_age < 0 else NOT_RUNNING
