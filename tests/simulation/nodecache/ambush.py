"""An orphan that rarely occurs by chance: it replaces a published log item that no snapshot contains yet.

A leader stops with a log item on its way. Its successor publishes that version, and stops as well. When the published
item has expired, the first leader's item arrives. Readers must apply neither this item nor the items that follow it.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.nodecache.feed.table import LogItem, TableUnavailable
from tests.simulation.world import World

SOON = 0.5


class Ambush:
    """Delays log items to create orphans. `stop_all`: stops all watchers for a long time."""

    def __init__(self, world: World, stop_all: Callable[[], None]) -> None:
        self._world = world
        self._stop_all = stop_all
        self._is_laid = False
        self._caught: tuple[str, int, Callable[[], object]] | None = None
        self._is_overtaken = False
        self._is_lifted = False

    def lay(self) -> None:
        """Catch the next log item that is sent, unless one has been caught already."""
        self._is_laid = self._caught is None

    def lift(self) -> None:
        """Stop intercepting; calls in flight still arrive."""
        self._is_laid, self._is_lifted = False, True

    def meet(self, uid: str, item: LogItem, write: Callable[[], object]) -> None:
        """Called when a log item is sent. Raises and crashes the sender if the item is caught."""
        if self._is_laid:
            self._is_laid = False
            self._caught, self._is_overtaken = (uid, item.version, write), False
            self._world.crash(self._world.current())
            self._world.pause()
            raise TableUnavailable("the request is still on its way")

    def awaits(self, uid: str, version: int) -> bool:
        """Return whether the caught item will take this item's place: then TTL deletes this item once it expires."""
        return self._caught is not None and self._caught[:2] == (uid, version)

    def published(self, uid: str, version: int) -> None:
        if self._caught is None or self._is_overtaken:
            return
        if self._caught[0] != uid:
            self._caught = None
        elif version >= self._caught[1]:
            self._is_overtaken = True
            self._world.after(self._world.random.uniform(0.0, SOON), self._stop)

    def cleaned(self, uid: str, version: int) -> None:
        """Called when a log item has expired and is deleted."""
        if self._caught is not None and self._caught[:2] == (uid, version):
            write, self._caught = self._caught[2], None
            write()

    def _stop(self) -> None:
        if not self._is_lifted:
            self._stop_all()
