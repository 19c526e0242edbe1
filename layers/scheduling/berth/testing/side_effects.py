"""What a plugin does besides computing: files, sockets and processes, clocks and random numbers."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from types import FrameType

_IO_EVENTS = ("open", "socket.", "subprocess.", "os.", "shutil.", "urllib.", "http.", "ftplib.", "smtplib.", "sqlite3.")
_COUNTERS = {"time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"}
_CLOCKS = {*_COUNTERS, *(f"{each}_ns" for each in _COUNTERS), "gmtime", "localtime", "ctime", "asctime", "strftime"}
_DATES = {"now", "utcnow", "today"}
_RANDOM = {"urandom", "getrandom"}

_watching: list[set[str]] = []
_is_installed = False


@contextmanager
def side_effects() -> Iterator[set[str]]:
    """The names of what was called in this thread until the block ends. Imports have to be done before."""
    global _is_installed  # noqa: PLW0603  # an audit hook cannot be removed
    if not _is_installed:
        sys.addaudithook(_audit)
        _is_installed = True
    found: set[str] = set()
    before = sys.getprofile()
    _watching.append(found)
    sys.setprofile(_profile)
    try:
        yield found
    finally:
        sys.setprofile(before if callable(before) else None)  # cProfile cannot be set again
        _watching.remove(found)


def _audit(event: str, args: object) -> None:
    if _watching and event.startswith(_IO_EVENTS):
        _watching[-1].add(event)


def _profile(frame: FrameType, event: str, called: object) -> None:
    if event == "c_call" and _watching and (name := _clock_or_random(called)):
        _watching[-1].add(name)


def _clock_or_random(called: object) -> str:
    """`time.monotonic`, `datetime.now`, `Random.random`; empty for other functions."""
    name, owner = getattr(called, "__name__", ""), getattr(called, "__self__", None)
    module = getattr(called, "__module__", None)
    if module == "time" and name in _CLOCKS:
        return f"time.{name}"
    if isinstance(owner, type) and issubclass(owner, date) and name in _DATES:
        return f"{owner.__name__}.{name}"
    if isinstance(owner, random.Random) and name in ("random", "getrandbits"):
        return f"random.{name}"
    return f"os.{name}" if module == "posix" and name in _RANDOM else ""
