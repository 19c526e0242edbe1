"""Processor time and memory of this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of processor time and the result of the call."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def peak_megabytes() -> float:
    """The peak memory of this process since its start; getrusage would include its parent."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6
