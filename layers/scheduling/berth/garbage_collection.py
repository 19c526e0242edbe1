"""Pauses garbage collection while many long-lived objects are created: a collection would scan them repeatedly and free
nothing.

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
    """Pause collections while a function imports and initializes: they took a sixth of the start time. The objects
    created in this block live as long as the process, so later collections also skip them."""
    with collection_paused():
        yield
        gc.freeze()
