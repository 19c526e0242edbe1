"""The watcher's schedule, in this process: one run after the other in a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from berth_cli.run_time import RunTime

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
