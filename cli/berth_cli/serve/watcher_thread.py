"""The watcher's schedule, in this process: one run after the other in a thread."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


class RunTime:
    """So many seconds, or until it is stopped: the run then ends as it does in the cloud, by a hand-over."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(max(0.0, self._until - time.monotonic()) * 1000)

    def stop(self) -> None:
        """From now on there is no time left."""
        self._until = -math.inf


RUN_SECONDS = 15 * 60.0
PAUSE_SECONDS = 1.0
STOP_SECONDS = 2.0

log = logging.getLogger(__name__)


@contextmanager
def watching(follow: Callable[[RunTime], object]) -> Iterator[None]:
    """Begins a run of the watcher whenever one has ended, whatever became of it, until the block ends."""
    stop = Event()
    runs: list[RunTime] = []

    def loop() -> None:
        while not stop.is_set():
            runs[:] = [RunTime(RUN_SECONDS)]
            try:
                follow(runs[0])
            except Exception:
                log.exception("the watcher failed unexpectedly; it runs again in %g s", PAUSE_SECONDS)
            stop.wait(PAUSE_SECONDS)

    thread = Thread(target=loop, name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        for run in runs:
            run.stop()
        thread.join(STOP_SECONDS)
