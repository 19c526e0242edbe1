"""Pauses garbage collection while many long-lived objects are created: collections would scan them again and again
without freeing memory.

Functions import this module before all other modules of Berth, so it does not import them.
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
    """Pause collections while a function imports and initializes, because they took a sixth of the start time. The
    objects created in this block live as long as the process, so later collections skip them, too."""
    with collection_paused():
        yield
        gc.freeze()
