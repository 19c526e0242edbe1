"""A thread of `berth serve` that repeats a function, for example the watcher, which has no schedule here."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


class LocalLambdaContext:
    """The part of the Lambda context that the watcher reads: the remaining time. After this time, or after `stop`, the
    run releases the lease and ends, as in Lambda.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(max(0.0, self._until - time.monotonic()) * 1000)

    def stop(self) -> None:
        """End the remaining time now."""
        self._until = -math.inf


RUN_SECONDS = 15 * 60.0
PAUSE_SECONDS = 1.0
STOP_SECONDS = 2.0

log = logging.getLogger(__name__)


@contextmanager
def watcher_thread(run: Callable[[LocalLambdaContext], object], name: str = "watcher") -> Iterator[None]:
    """Call `run` repeatedly until the block ends, even after an unexpected error. name: the thread's name."""
    stop = Event()
    contexts: list[LocalLambdaContext] = []

    def loop() -> None:
        while not stop.is_set():
            contexts[:] = [LocalLambdaContext(RUN_SECONDS)]
            try:
                run(contexts[0])
            except Exception:
                log.exception("the %s failed; the next run starts in %g s", name, PAUSE_SECONDS)
            stop.wait(PAUSE_SECONDS)

    thread = Thread(target=loop, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        for context in contexts:
            context.stop()
        thread.join(STOP_SECONDS)
