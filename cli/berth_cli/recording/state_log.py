"""The states of a node cache as a log: all objects once, then the changes of each version.

They are read as they are published, and written when a decision needs them: a reader of the recording keeps only the
last ones.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from berth.dynamodb_errors import TableUnavailable
from berth.nodecache.feed.changes import Change, CorruptItem, unpack
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.reader import LogPosition, NodeCacheReader, NothingPublished, read_log
from berth.nodecache.feed.table import CacheTable
from berth_cli.cached_objects import ObjectsView
from berth_cli.recording.format import MOST_VERSIONS, State

MOST_LATER = MOST_VERSIONS // 2
"""A call decides on the version that it read, or on one that another thread has applied meanwhile: so many later ones
are written before its decision, if they are published by then."""


class _Cursor(NamedTuple):
    uid: str
    pointer: Pointer


class StateLog:
    """Follows a node cache. For one thread."""

    def __init__(self, table: CacheTable, write: Callable[[State], None]) -> None:
        """write: gets each state, in their order."""
        self._table, self._write = table, write
        self._cursor: _Cursor | None = None
        self._unwritten: deque[State] = deque()
        self._first = self._last = 0

    def follow(self) -> None:
        """Read what was published since the last time, and write it."""
        self.read()
        while self._unwritten:
            self._write_next()

    def reach(self, version: int) -> bool:
        """Write what a decision on this version needs. Whether a reader has this state then: it lacks those from before
        the recording, and those that too many others followed."""
        while self._unwritten:
            state = self._unwritten[0]
            # A whole state ends what was before it.
            if state.version > version + (0 if state.is_whole else MOST_LATER):
                break
            self._write_next()
        return self._first <= version <= self._last < version + MOST_VERSIONS

    def begin_anew(self) -> None:
        """The next state is a whole one."""
        self._cursor = None
        self._unwritten.clear()

    def read(self) -> None:
        """Read what was published since the last time."""
        try:
            head = self._table.head()
            pointer = None if head is None else head.pointer
            if head is None or pointer is None or pointer.unreadable_reason:
                return
            states = self._states_since(self._cursor, head.uid, pointer)
            if states is None:
                self._begin()
                return
            self._unwritten += states
            self._cursor = _Cursor(head.uid, pointer)
        except TableUnavailable:
            return

    def _states_since(self, cursor: _Cursor | None, uid: str, pointer: Pointer) -> list[State] | None:
        """None where one is malformed or missing, or may be."""
        if cursor is None or cursor.uid != uid or cursor.pointer.version < pointer.compacted_version:
            return None
        start = LogPosition(cursor.pointer.version, cursor.pointer.newest)
        items = read_log(self._table, uid, start, pointer.newest)
        if items is None:
            return None
        try:
            return [State(item.version, list(unpack([item.data])), is_whole=False) for item in items]
        except CorruptItem:
            return None

    def _begin(self) -> None:
        """Read the whole state."""
        reader = NodeCacheReader(self._table, ObjectsView(), time.sleep)
        head = self._table.head()
        try:
            objects = reader.at(head)
        except NothingPublished:
            return
        if head is None or head.pointer is None or reader.version != head.pointer.version:
            return  # the next round finds a head that stands still
        changes = [Change(resource, key, obj) for (resource, key), obj in objects.items()]
        self._unwritten.append(State(reader.version, changes, is_whole=True))
        self._cursor = _Cursor(head.uid, head.pointer)

    def _write_next(self) -> None:
        state = self._unwritten.popleft()
        self._write(state)
        self._last = state.version
        if state.is_whole:
            self._first = state.version
