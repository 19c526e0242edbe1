"""A reader of a store, and a record of its calls."""

from __future__ import annotations

from collections.abc import Callable

from berth.nodecache.feed.reader import NodeCacheReader
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts
from tests.fakes.cache_tables import InterruptedCacheTable
from tests.unit.nodecache.feed.feeds import InPlaceView, State, Store, node

ONE, TWO, THREE, FOUR = (node(f"n{number}") for number in (1, 2, 3, 4))

GARBAGE = b"not what a writer wrote"


class Reading:
    """A reader whose view changes states in place, so that a change applied too early shows."""

    def __init__(
        self,
        store: Store,
        before: dict[str, Callable[[], object]] | None = None,
        sleep: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.table = InterruptedCacheTable(store, before or {})
        self.reader: NodeCacheReader[State] = NodeCacheReader(self.table, InPlaceView(), sleep)

    def read(self, parts: Parts = ALL_PARTS) -> State:
        """Return the state that a call for these parts gets."""
        return dict(self.reader.at(self.table.head(), parts=parts))

    def calls(self) -> list[str]:
        calls, self.table.calls = self.table.calls, []
        return calls
