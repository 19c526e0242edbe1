"""A scheduling queue that records its wake-ups."""

from __future__ import annotations

from collections.abc import Sequence

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.upkeep.wake_up import SchedulingQueue


class RecordingQueue(SchedulingQueue):
    """Records the pods of each call; with an `outage` it cannot be woken."""

    def __init__(self) -> None:
        self.woken: list[tuple[str, ...]] = []
        self.outage = ""

    def wake(self, waiting: Sequence[str]) -> None:
        if self.outage:
            raise ClusterUnavailable(self.outage)
        self.woken.append(tuple(waiting))
