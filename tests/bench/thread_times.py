"""`python -m tests.bench.thread_times FILE serve …`: the berth command, and in FILE what its threads take."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

EVERY_SECONDS = 0.25
TICKS = os.sysconf("SC_CLK_TCK")


def seconds_by_thread() -> dict[str, float]:
    """Of the threads that live, by name without its number. The main thread has the HTTP server."""
    found: dict[str, float] = {}
    for thread in threading.enumerate():
        try:
            times = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()
        except OSError:  # it has just ended
            continue
        name = thread.name.partition("_")[0]
        found[name] = found.get(name, 0.0) + int(times[0]) / 1e9
    return found


def report(file: Path) -> None:
    """Write it again and again."""
    part = file.with_suffix(".part")
    while True:
        part.write_text(json.dumps(seconds_by_thread()))
        os.replace(part, file)
        time.sleep(EVERY_SECONDS)


if __name__ == "__main__":
    from berth_cli.main import main

    threading.Thread(target=report, args=(Path(sys.argv.pop(1)),), name="report", daemon=True).start()
    main()
