"""The states of a node cache as a log: all objects once, then the changes of each version."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from berth.dynamodb_errors import TableUnavailable
from berth.nodecache.feed.changes import Change, unpack
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.reader import LogPosition, NodeCacheReader, NothingPublished, read_log
from berth.nodecache.feed.table import CacheTable, LogItem
from berth_cli.cached_objects import ObjectsView
from berth_cli.recording.format import State


class _Cursor(NamedTuple):
    uid: str
    pointer: Pointer


class StateLog:
    """Follows a node cache. For one thread."""

    def __init__(self, table: CacheTable, write: Callable[[State], None]) -> None:
        """write: gets each state, in their order."""
        self._table, self._write = table, write
        self._cursor: _Cursor | None = None
        self._first = 0

    def has(self, version: int) -> bool:
        """Whether this state can be made from what was written since the last whole one."""
        return self._cursor is not None and self._first <= version <= self._cursor.pointer.version

    def begin_anew(self) -> None:
        """The next state is a whole one."""
        self._cursor = None

    def follow(self) -> None:
        """Write what was published since the last time."""
        try:
            head = self._table.head()
            pointer = None if head is None else head.pointer
            if head is None or pointer is None or pointer.unreadable_reason:
                return
            items = self._items_since(self._cursor, head.uid, pointer)
            if items is None:
                self._begin()
                return
            for item in items:
                self._write(State(item.version, list(unpack([item.data])), is_whole=False))
            self._cursor = _Cursor(head.uid, pointer)
        except TableUnavailable:
            return

    def _items_since(self, cursor: _Cursor | None, uid: str, pointer: Pointer) -> list[LogItem] | None:
        """None where one is missing, or may be."""
        if cursor is None or cursor.uid != uid or cursor.pointer.version < pointer.compacted_version:
            return None
        start = LogPosition(cursor.pointer.version, cursor.pointer.newest)
        return read_log(self._table, uid, start, pointer.newest)

    def _begin(self) -> None:
        """Write the whole state."""
        reader = NodeCacheReader(self._table, ObjectsView(), time.sleep)
        head = self._table.head()
        try:
            objects = reader.at(head)
        except NothingPublished:
            return
        if head is None or head.pointer is None or reader.version != head.pointer.version:
            return  # the next round finds a head that stands still
        changes = [Change(resource, key, obj) for (resource, key), obj in objects.items()]
        self._write(State(reader.version, changes, is_whole=True))
        self._cursor, self._first = _Cursor(head.uid, head.pointer), reader.version
