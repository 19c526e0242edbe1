"""Processor time and memory of a process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of processor time and the result of the call."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def usage(pid: int) -> tuple[float, int]:
    """Return the processor time in milliseconds, and the voluntary context switches of the running threads; (0.0, 0)
    without a process."""
    if not pid:
        return 0.0, 0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])  # utime, stime
    switches = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended
            status = (thread / "status").read_text()
            switches += int(status.partition("\nvoluntary_ctxt_switches:")[2].split(maxsplit=1)[0])
    return ticks * 1000 / os.sysconf("SC_CLK_TCK"), switches


def peak_megabytes() -> float:
    """Return the peak memory of this process since its start; getrusage would include its parent."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6
