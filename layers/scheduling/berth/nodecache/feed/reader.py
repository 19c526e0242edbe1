"""The reader in every warm environment: one read of the head per call, and only the log items that are new.

It loads the parts of the state that its callers need, and keeps them up to date. A log item of another part has its
place in the chain, and its data is not decoded.

Guarantees:
- A call decides on the state that was published when it read the head, or on a later one.
- Changes are applied together and in order. Within one head item the state never goes back.
- The state never misses a change at or below its version. The chain of epochs tells published log items from orphans,
  whatever the clocks say.
- A missing or malformed log item costs a load of the snapshot.
- States are immutable and shared.
- Every call begins with the head, so the reader recovers when the table does.

Not guaranteed:
- That the data is fresh. The head's `observed_at` says how old it is.
- That the reader detects a table restored under the same name before its version exceeds this reader's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from threading import Lock
from typing import Generic, Protocol, TypeVar

from berth.nodecache.feed.changes import Change, CorruptItem, unpack
from berth.nodecache.feed.head import FUTURE_SCHEMA, Head, Pointer, PublishedVersion
from berth.nodecache.feed.table import CacheTable, LogItem
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts


def is_unbroken_chain(items: Sequence[LogItem], after: PublishedVersion, through: PublishedVersion) -> bool:
    """Whether these items, in ascending order, are exactly the published ones between the two versions."""
    if len(items) != through.version - after.version:
        return False
    version, epoch = through
    for item in reversed(items):
        if (item.version, item.epoch) != (version, epoch):
            return False
        version, epoch = version - 1, item.previous
    return epoch == after.epoch


ATTEMPTS = 5
RETRY_SECONDS = 0.05
"""Chunks are read eventually consistent: one just written may be absent for some tens of milliseconds."""

LOG_ATTEMPTS = 3
"""The log is read consistently: an item that is missing twice under a fresh head will not appear."""

NOTHING_PUBLISHED = "the node cache is empty: no watcher has published yet; is its schedule enabled?"
INCOMPLETE = "a part of the node cache is missing; the watcher's next snapshot replaces it"
DEADLINE_PASSED = "the time for the answer was over before the node cache was read: a cold start, or a slow table"
MALFORMED = "a part of the node cache is malformed; the watcher's next snapshot replaces it"

S = TypeVar("S")


class View(Protocol[S]):
    """Builds states from changes. States are values, never changed in place.

    It must not raise, whatever an object contains: one object must not stop all readers.
    """

    def empty(self) -> S:
        """The state before the first change."""

    def applied(self, state: S, changes: Iterable[Change]) -> S:
        """The state after these changes. It shares everything that they did not change.

        An exception of the iterator `changes` must pass through. That happens only where `state` is `empty()`.
        """


@dataclass(frozen=True, slots=True)
class _Cursor(Generic[S]):
    """The last version that this reader has applied, within the head item of that uid. `parts`: those in `state`."""

    uid: str
    published: PublishedVersion
    parts: Parts
    state: S

    @property
    def version(self) -> int:
        return self.published.version

    def is_at(self, head: Head | None) -> bool:
        """Whether this head points to the cursor's version: the steady state of a verb."""
        return (
            head is not None
            and head.pointer is not None
            and head.uid == self.uid
            and head.pointer.published == self.published
        )


class _Missing(Enum):
    """Why there is no cursor yet."""

    CHUNK = auto()
    LOG_ITEM = auto()
    NEWER_HEAD = auto()


class NothingPublished(Exception):
    """There is no state to read. The message has cause and remedy."""


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
        """The last version that was applied; 0 before the first."""
        return 0 if self._cursor is None else self._cursor.version

    def at(self, head: Head | None, remaining: Callable[[], float] = lambda: math.inf, parts: Parts = ALL_PARTS) -> S:
        """The state this head points to, or a later one. Raises NothingPublished and TableUnavailable.

        `remaining`: seconds for the answer. With none left no read and no wait begins. `parts`: what the state has at
        least. Parts that an earlier call needed stay.
        """
        cursor = self._cursor
        if cursor is not None and parts <= cursor.parts and cursor.is_at(head):
            return cursor.state
        if not remaining():
            # Before the lock: the thread that has it may wait for the table.
            raise NothingPublished(DEADLINE_PASSED)
        with self._catching_up:
            for attempt in range(ATTEMPTS):
                if remaining() <= RETRY_SECONDS * attempt:
                    raise NothingPublished(INCOMPLETE if attempt else DEADLINE_PASSED)
                if attempt:
                    # The missing part may appear, or a newer head may replace it.
                    self._sleep(RETRY_SECONDS * attempt)
                    head = self._table.head()
                uid, pointer = _readable(head)
                found = self._cursor_for(uid, pointer, parts, is_current=attempt > 0)
                if isinstance(found, _Cursor):
                    self._cursor = found
                    return found.state
                if found is _Missing.LOG_ITEM and attempt + 1 >= LOG_ATTEMPTS:
                    break
        raise NothingPublished(INCOMPLETE)

    def _cursor_for(self, uid: str, pointer: Pointer, parts: Parts, *, is_current: bool) -> _Cursor[S] | _Missing:
        """The cursor at this pointer, or beyond it where another thread was faster.

        `is_current`: the head was read after the cursor was set.
        """
        cursor = self._cursor
        if cursor is None:
            return self._load_snapshot(uid, pointer, parts)
        needed = cursor.parts | parts
        if cursor.uid != uid:
            # Nothing shows which of the two items is older.
            return self._load_snapshot(uid, pointer, needed) if is_current else _Missing.NEWER_HEAD
        is_complete = needed == cursor.parts
        if cursor.version > pointer.version:
            # A part that is loaded at an older version would take the others back.
            return cursor if is_complete else _Missing.NEWER_HEAD
        if is_complete and cursor.published == pointer.published:
            return cursor
        # Below compactedVersion log items may be gone, and an old orphan may be in the gap.
        if not is_complete or cursor.version < pointer.compacted_version:
            return self._load_snapshot(uid, pointer, needed)
        return self._replay_log(cursor, pointer) or self._load_snapshot(uid, pointer, needed)

    def _load_snapshot(self, uid: str, pointer: Pointer, parts: Parts) -> _Cursor[S] | _Missing:
        snapshot = pointer.snapshot
        if snapshot is None:
            start = _Cursor(uid, PublishedVersion(0, 0), parts, self._view.empty())
            return self._replay_log(start, pointer) or _Missing.LOG_ITEM
        found = self._table.chunks(snapshot, parts)
        chunks = [chunk for chunk in found if chunk is not None]
        if len(chunks) != len(found):
            return _Missing.CHUNK
        try:
            state = self._view.applied(self._view.empty(), unpack(chunks, parts))
        except CorruptItem as error:
            raise NothingPublished(MALFORMED) from error
        return self._replay_log(_Cursor(uid, snapshot.published, parts, state), pointer) or _Missing.LOG_ITEM

    def _replay_log(self, cursor: _Cursor[S], pointer: Pointer) -> _Cursor[S] | None:
        """Apply all changes up to the pointer. None where one is missing or malformed."""
        if cursor.published == pointer.published:
            return cursor
        items = self._table.log(cursor.uid, cursor.version, pointer.version)
        if not is_unbroken_chain(items, cursor.published, pointer.published):
            return None
        # The chain needs all items, whatever their part is.
        needed = [item.data for item in items if item.part is None or item.part in cursor.parts]
        changes = _all_changes(needed, cursor.parts)
        if changes is None:
            return None
        state = self._view.applied(cursor.state, changes) if changes else cursor.state
        return _Cursor(cursor.uid, pointer.published, cursor.parts, state)


def _readable(head: Head | None) -> tuple[str, Pointer]:
    if head is None or head.pointer is None:
        raise NothingPublished(NOTHING_PUBLISHED)
    if not head.is_readable:
        raise NothingPublished(FUTURE_SCHEMA)
    return head.uid, head.pointer


def _all_changes(items: Sequence[bytes], parts: Parts) -> list[Change] | None:
    """Decode all changes before the first is applied: a view may be unable to go back."""
    try:
        return list(unpack(items, parts))
    except CorruptItem:
        return None
