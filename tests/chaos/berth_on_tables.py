"""`python -m tests.chaos.berth_on_tables serve …`: the berth command with a wall clock that may be wrong.

The file that CHAOS_CLOCK names has the seconds that this process's wall clock is ahead. With `--store dynamodb` the
tables survive the process, and several processes share them.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

CLOCK = "CHAOS_CLOCK"
LOOK_SECONDS = 0.1

_right = time.time
_ahead = 0.0


def _wall() -> float:
    return _right() + _ahead


def _follow(file: Path) -> None:
    global _ahead  # noqa: PLW0603 (the clock belongs to the whole process)
    while True:
        with suppress(OSError, ValueError):
            _ahead = float(file.read_text())
        time.sleep(LOOK_SECONDS)


def main() -> None:
    """The command, with its clock."""
    time.time = _wall
    Thread(target=_follow, args=(Path(os.environ[CLOCK]),), daemon=True).start()
    # Only now: modules may take the clock when they are imported.
    from berth_cli.main import main as berth

    berth()


if __name__ == "__main__":
    main()
