"""At most one local stack of a clone: the lock that the running one holds, and how another command ends it."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "running"


class AlreadyRunning(Exception):
    """Another process serves the local stack. The message names it and says how it is stopped."""


@contextmanager
def lock(directory: Path) -> Iterator[None]:
    """Hold the lock in `directory`. A process that ends, however it ends, holds it no longer. Raises AlreadyRunning."""
    with (directory / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(
                f"process {_pid(directory)} serves a local stack already; stop it with: make local-stack STOP=1"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def stop(directory: Path) -> bool:
    """End the process that holds the lock, and wait until it has ended. False if none does."""
    path = directory / LOCK
    if not path.exists():
        return False
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.kill(_pid(directory), signal.SIGTERM)
            fcntl.flock(file, fcntl.LOCK_EX)
            return True
    return False


def _pid(directory: Path) -> int:
    return int((directory / LOCK).read_text())
