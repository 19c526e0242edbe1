"""Garbage collection while many objects are made that all stay. It would go over them again and again and find none.

Functions import this module before all others of Berth, so it imports none of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def start_without_collection() -> Iterator[None]:
    """Around what a function imports and builds when it starts: a sixth of the time went into collections.

    What it has made lives as long as the process, so later collections do not look at it either.
    """
    with collection_paused():
        yield
        gc.freeze()
