"""The reader in every warm environment: one consistent read of the head a call, and of the rest only what is new.

Guarantees. A call decides on what was published when it read the head, or later. Changes are applied all or none, in
order; the state never goes back, and never misses a change at or below its version. States are immutable and shared.

Not guaranteed: that the data is fresh. The head's `observed_at` says how old it is; see freshness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, Protocol, TypeVar

from berth.nodecache.feed.changes import Change, CorruptItem, unpack
from berth.nodecache.feed.head import SCHEMA_VERSION, Head, Pointer
from berth.nodecache.feed.table import CacheTable

ATTEMPTS = 5
RETRY_SECONDS = 0.05
"""Chunks are read eventually consistent: one just written may be absent for some tens of milliseconds."""

NOTHING_PUBLISHED = "the node cache is empty: no watcher has published yet; is its schedule enabled?"
INCOMPLETE = "a part of the node cache is missing; the watcher's next snapshot replaces it"
FUTURE_SCHEMA = "the node cache was written by a newer release; update this function"
REPLACED = "the watcher's next snapshot replaces it"

S = TypeVar("S")


class View(Protocol[S]):
    """What a reader makes of the changes: values, never changed in place."""

    def empty(self) -> S:
        """The state before the first change."""

    def applied(self, state: S, changes: Iterable[Change]) -> S:
        """The state after these changes, sharing what they did not touch."""


@dataclass(frozen=True, slots=True)
class _Cursor(Generic[S]):
    """Up to where this reader has come, in the head item of that uid."""

    uid: str
    version: int
    state: S

    def is_at(self, head: Head | None) -> bool:
        """Whether there is nothing to do: the steady state of a verb."""
        return (
            head is not None
            and head.pointer is not None
            and head.uid == self.uid
            and head.pointer.version == self.version
        )


class NothingPublished(Exception):
    """There is no state to read. The message names cause and remedy."""


class NodeCacheReader(Generic[S]):
    """Safe to share between threads: one of them catches up, the others wait for it."""

    def __init__(self, table: CacheTable, view: View[S], sleep: Callable[[float], None]) -> None:
        self._table = table
        self._view = view
        self._sleep = sleep
        self._catching_up = Lock()
        self._cursor: _Cursor[S] | None = None

    @property
    def version(self) -> int:
        """Up to where this reader has come; 0 before it has read anything."""
        return 0 if self._cursor is None else self._cursor.version

    def at(self, head: Head | None) -> S:
        """The state this head points to, or a later one. Raises NothingPublished and TableUnavailable."""
        cursor = self._cursor
        if cursor is not None and cursor.is_at(head):
            return cursor.state
        with self._catching_up:
            for attempt in range(ATTEMPTS):
                if attempt:
                    # What was missing is on its way, or has been replaced by something newer: look again.
                    self._sleep(RETRY_SECONDS * attempt)
                    head = self._table.head()
                following = self._following(*_readable(head))
                if following is not None:
                    self._cursor = following
                    return following.state
        raise NothingPublished(INCOMPLETE)

    def _following(self, uid: str, pointer: Pointer) -> _Cursor[S] | None:
        """The cursor at this pointer or, where another thread has been there, beyond. None: something is missing."""
        cursor = self._cursor
        if cursor is None or cursor.uid != uid:
            return self._from_snapshot(uid, pointer)
        if cursor.version >= pointer.version:
            return cursor
        # Below compactedVersion the log may have been cleaned, and an old orphan may stand in the gap.
        if cursor.version < pointer.compacted_version:
            return self._from_snapshot(uid, pointer)
        return self._along_the_log(cursor, pointer) or self._from_snapshot(uid, pointer)

    def _from_snapshot(self, uid: str, pointer: Pointer) -> _Cursor[S] | None:
        snapshot = pointer.snapshot
        if snapshot is None:
            return self._along_the_log(_Cursor(uid, 0, self._view.empty()), pointer)
        chunks = [chunk for chunk in self._table.chunks(snapshot) if chunk is not None]
        if len(chunks) != snapshot.chunks:
            return None
        state = self._view.applied(self._view.empty(), _unpacked(chunks))
        return self._along_the_log(_Cursor(uid, snapshot.version, state), pointer)

    def _along_the_log(self, cursor: _Cursor[S], pointer: Pointer) -> _Cursor[S] | None:
        """All changes up to the pointer, or None where one is missing."""
        if cursor.version == pointer.version:
            return cursor
        items = self._table.log(cursor.version, pointer.version)
        if [item.version for item in items] != list(range(cursor.version + 1, pointer.version + 1)):
            return None
        state = self._view.applied(cursor.state, _unpacked(item.data for item in items))
        return _Cursor(cursor.uid, pointer.version, state)


def _readable(head: Head | None) -> tuple[str, Pointer]:
    if head is None or head.pointer is None:
        raise NothingPublished(NOTHING_PUBLISHED)
    if head.pointer.schema_version > SCHEMA_VERSION:
        raise NothingPublished(FUTURE_SCHEMA)
    return head.uid, head.pointer


def _unpacked(items: Iterable[bytes]) -> Iterable[Change]:
    try:
        yield from unpack(items)
    except CorruptItem as error:
        raise NothingPublished(f"{error}; {REPLACED}") from error
