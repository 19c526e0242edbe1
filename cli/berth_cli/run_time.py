"""Stands for the Lambda context of a run of the watcher, which asks it how long it may still take."""

from __future__ import annotations

import math
import time


class RunTime:
    """So many seconds, or until it is stopped: the run then ends as it does in the cloud, by a hand-over."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(max(0.0, self._until - time.monotonic()) * 1000)

    def stop(self) -> None:
        """From now on there is no time left."""
        self._until = -math.inf
