"""The changes of the cluster as server-sent events.

| event | data |
|---|---|
| `change` | the change that leads to the next state |
| `condition` | how current the state is: at the beginning, when it changes, and every few seconds |
| `reset` | the changes up to now are not kept: the page reads the whole state |
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson

from berth_cli.console.documents.feed import Feed

CONDITION_SECONDS = 5.0
LOOK_SECONDS = 0.5
"""How soon a stream notices that the server stops."""


async def events(
    feed: Feed,
    since: int,
    wall: Callable[[], float],
    is_stopping: Callable[[], bool],
    condition_seconds: float = CONDITION_SECONDS,
) -> AsyncIterator[bytes]:
    """The events after the state `since`, until the server stops or the reader is gone."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(changed.set)

    with feed.listening(wake):
        told_at = -condition_seconds
        is_woken = True
        while not is_stopping():
            changed.clear()
            found = feed.changes_after(since)
            if found is None:
                yield _event("reset", orjson.dumps({}))
                return
            for change in found:
                yield _event("change", change.document)
                since = change.sequence
            if is_woken or loop.time() - told_at >= condition_seconds:
                told_at = loop.time()
                yield _event("condition", orjson.dumps(feed.condition.document(wall())))
            is_woken = await _is_set(changed)


async def _is_set(changed: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            return await changed.wait()
    except TimeoutError:
        return False


def _event(name: str, data: bytes) -> bytes:
    """JSON has no line break in it, so one line of data is enough."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
