"""A wall clock that is ahead by the seconds in a file, in the whole process.

It does not import modules of the project, because functions in the emulator run it, too.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

LOOK_SECONDS = 0.1

_right = time.time
_ahead = 0.0


def follow(file: Path) -> None:
    """Follow the file. Call this before imports that may copy `time.time`. Without a file the clock is right."""
    time.time = _wall
    Thread(target=_look, args=(file,), daemon=True).start()


def _wall() -> float:
    return _right() + _ahead


def _look(file: Path) -> None:
    global _ahead  # noqa: PLW0603 (the clock belongs to the whole process)
    while True:
        with suppress(OSError, ValueError):
            _ahead = float(file.read_text())
        time.sleep(LOOK_SECONDS)
