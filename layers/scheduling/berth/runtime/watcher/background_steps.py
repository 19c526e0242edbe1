"""A part of the leader's work in a thread of its own: a call to a table or the API server delays no publication."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from berth.runtime.adapters import log
from berth.runtime.watcher.background_reconciler import PAUSE_SECONDS, STOP_SECONDS


class BackgroundSteps:
    """Starts with the first publication of a leadership and ends with it."""

    def __init__(self, step: Callable[[], float], name: str, failure: str) -> None:
        """step: does a piece of work and returns the seconds until the next one. failure: what has not happened if it
        raises, for the log."""
        self._step = step
        self._name = name
        self._failure = failure
        self._is_closed = False
        self._is_wanted = Event()
        self._thread: Thread | None = None

    def published(self) -> None:
        """Call it after every publication."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def run_soon(self) -> None:
        """The next step need not wait."""
        self._is_wanted.set()

    def close(self) -> None:
        """End the thread after the running call."""
        self._is_closed = True
        self._is_wanted.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        seconds = 0.0
        while True:
            self._is_wanted.wait(seconds)
            self._is_wanted.clear()
            if self._is_closed:
                return
            try:
                seconds = self._step()
            except Exception:
                log.exception("%s; the next attempt is in %g s", self._failure, PAUSE_SECONDS)
                seconds = PAUSE_SECONDS
