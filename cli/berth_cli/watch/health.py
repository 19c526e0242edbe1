"""The state of a watcher process as two files, for the probes of its pod.

Files and no port: nothing in the cluster can call the process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ALIVE, READY = "alive", "ready"

TOUCH_SECONDS = 10.0
"""Between two changes of ALIVE. A watcher that did not change it for two minutes hangs."""


class Health:
    """ALIVE: its time of change is the last progress. READY: exists once a leader is known, this one or another."""

    def __init__(self, directory: Path | None, monotonic: Callable[[], float]) -> None:
        """directory: created; None: no files. Raises OSError."""
        self._directory = directory
        self._monotonic = monotonic
        self._touched_at: float | None = None
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / READY).unlink(missing_ok=True)

    def progressed(self) -> None:
        """The watcher does not hang. Called twice a second and more."""
        now = self._monotonic()
        if self._touched_at is None or now - self._touched_at >= TOUCH_SECONDS:
            self._touched_at = now
            self._touch(ALIVE)

    def new_leader(self, holder: str) -> None:
        """The lease could be read. Empty: it is free."""
        if holder:
            self._touch(READY)

    def _touch(self, name: str) -> None:
        if self._directory is not None:
            with suppress(OSError):  # the probe notices
                (self._directory / name).touch()
