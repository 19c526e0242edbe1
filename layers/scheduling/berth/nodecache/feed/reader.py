"""The reader in every warm environment: one read of the head per call, and only the log items that are new.

It loads the parts of the state that its callers need. Each part has its own log. If the head does not name a new item
for the parts of a call, the call neither reads more nor waits. Otherwise all loaded parts are brought up to date.

Guarantees:
- A call gets the parts that it needs as they were published when it read the head, or later. Other parts may be older,
  but all parts together always are a state that was published.
- Changes are applied together and in order. Within one head item the state never goes back.
- The state never misses a change at or below its version. The head names the newest log item of each part by version
  and epoch, and each item names the previous one. This chain distinguishes published items from orphans, even if clocks
  differ.
- A missing or malformed log item costs a load of the snapshot.
- Calls share states, which the verbs' view never changes.
- Every call begins with the head, so the reader recovers when the table does.

Not guaranteed:
- The data may be old. The head's `observed_at` shows how old it is.
- A table that was restored under the same name may go undetected until its version exceeds the reader's version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar

from berth.nodecache.feed.changes import Change, CorruptItem, unpack
from berth.nodecache.feed.head import BEGINNING, Head, PartVersions, Pointer, PublishedVersion, in_every_part
from berth.nodecache.feed.table import CacheTable, LogItem
from berth.scheduling.snapshot.parts import ALL_PARTS, NO_PARTS, Parts, SnapshotPart


def published_items(items: Iterable[LogItem], since: PartVersions, through: PartVersions) -> list[LogItem] | None:
    """Return the items between each part's version in `since` and its version in `through`, ordered by version; None if
    one is missing. Other items are orphans of deposed leaders, and are left out."""
    left = {(item.part, item.published): item for item in items}
    chain: list[LogItem] = []
    for part, start in since.items():
        following = through[part]
        while following != start:
            item = left.pop((part, following), None)
            if item is None:
                return None
            chain.append(item)
            following = item.previous
    return sorted(chain, key=lambda item: item.version)


class LogPosition(NamedTuple):
    version: int
    newest: PartVersions


def read_log(table: CacheTable, uid: str, since: LogPosition, through: PartVersions) -> list[LogItem] | None:
    """Return the published items since this position, with a query for each changed part; None if an item is missing,
    or if the table was restored."""
    changed = {part: through[part].version for part, newest in since.newest.items() if newest != through[part]}
    if any(version <= since.version for version in changed.values()):
        # These versions are from another history: the table was restored.
        return None
    return published_items(table.log(uid, since.version, changed) if changed else (), since.newest, through)


ATTEMPTS = 5
RETRY_SECONDS = 0.05
"""Seconds before the next attempt. Reads of chunks are eventually consistent: a new chunk may be missing for some tens
of milliseconds."""

LOG_ATTEMPTS = 3
"""Maximum number of reads of the log. The reads are consistent: an item that is missing twice under a newly read head
will not appear."""

NOTHING_PUBLISHED = "the node cache is empty: no watcher has published yet; is its schedule enabled?"
INCOMPLETE = "a part of the node cache is missing; the watcher's next snapshot replaces it"
DEADLINE_PASSED = "the deadline passed before the node cache was read: a cold start, or a slow table"
MALFORMED = "a part of the node cache is malformed; the watcher's next snapshot replaces it"

S = TypeVar("S")


class View(Protocol[S]):
    """Builds states from changes without changing shared states. Must not raise for any content of an object."""

    def empty(self) -> S:
        """Return the state before the first change."""

    def applied(self, state: S, changes: Iterable[Change]) -> S:
        """Return the state after these changes, which shares all unchanged objects. Exceptions of the iterator must
        propagate; they occur only if `state` is `empty()`."""


@dataclass(frozen=True, slots=True)
class _Cursor(Generic[S]):
    """The last version that this reader has applied. uid: the uid of the head item. newest: the versions of exactly the
    parts of `state`."""

    uid: str
    published: PublishedVersion
    newest: PartVersions
    state: S

    @property
    def version(self) -> int:
        return self.published.version

    @property
    def parts(self) -> Parts:
        return frozenset(self.newest)

    def has(self, uid: str, pointer: Pointer, parts: Parts) -> bool:
        """Return whether the state has these parts as of this pointer or a later one."""
        if uid != self.uid or not self.newest.keys() >= parts:
            return False
        return self.version > pointer.version or all(pointer.newest[part] == self.newest[part] for part in parts)

    def moved_on(self, pointer: Pointer) -> _Cursor[S]:
        """Return the cursor at this pointer if the pointer is later and the parts have not changed, otherwise self."""
        if pointer.version <= self.version or not self.has(self.uid, pointer, self.parts):
            return self
        return replace(self, published=pointer.published)


class _Missing(Enum):
    CHUNK = auto()
    LOG_ITEM = auto()
    NEWER_HEAD = auto()


class NothingPublished(Exception):
    """There is no readable state. The message has the cause and a remedy."""


class NodeCacheReader(Generic[S]):
    """Reads the published state. Thread-safe: one thread catches up, and the other threads wait for it."""

    def __init__(self, table: CacheTable, view: View[S], sleep: Callable[[float], None]) -> None:
        self._table = table
        self._view = view
        self._sleep = sleep
        self._catching_up = Lock()
        self._cursor: _Cursor[S] | None = None

    @property
    def version(self) -> int:
        """Return the version of all loaded parts; 0 before the first load."""
        return 0 if self._cursor is None else self._cursor.version

    @property
    def parts(self) -> Parts:
        return NO_PARTS if self._cursor is None else self._cursor.parts

    def at(self, head: Head | None, remaining: Callable[[], float] = lambda: math.inf, parts: Parts = ALL_PARTS) -> S:
        """Return the state that this head points to, or a later one: these parts, and the parts that earlier calls
        needed, which may be older. Raises NothingPublished and TableUnavailable. `remaining`: the seconds left; at 0
        neither a read nor a wait begins."""
        uid, pointer = _readable(head)
        cursor = self._cursor
        if cursor is not None and cursor.has(uid, pointer, parts):
            if cursor.published != pointer.published:
                self._move_on(cursor, pointer)
            return cursor.state
        if not remaining():
            # Do not wait for the lock: the thread that holds it may be waiting for the table.
            raise NothingPublished(DEADLINE_PASSED)
        with self._catching_up:
            for attempt in range(ATTEMPTS):
                if remaining() <= RETRY_SECONDS * attempt:
                    raise NothingPublished(INCOMPLETE if attempt else DEADLINE_PASSED)
                if attempt:
                    # The missing part may appear, or a newer head may replace it.
                    self._sleep(RETRY_SECONDS * attempt)
                    uid, pointer = _readable(self._table.head())
                found = self._cursor_for(uid, pointer, parts, is_current=attempt > 0)
                if isinstance(found, _Cursor):
                    self._cursor = found
                    return found.state
                if found is _Missing.LOG_ITEM and attempt + 1 >= LOG_ATTEMPTS:
                    break
        raise NothingPublished(INCOMPLETE)

    def _move_on(self, cursor: _Cursor[S], pointer: Pointer) -> None:
        """Move the cursor unless another thread is catching up: that thread sets the cursor itself."""
        if self._catching_up.acquire(blocking=False):
            try:
                if self._cursor is cursor:
                    self._cursor = cursor.moved_on(pointer)
            finally:
                self._catching_up.release()

    def _cursor_for(self, uid: str, pointer: Pointer, parts: Parts, *, is_current: bool) -> _Cursor[S] | _Missing:
        """Return the cursor at this pointer, or a later one if another thread was faster. `is_current`: whether the
        head was read after the cursor was set."""
        cursor = self._cursor
        if cursor is None:
            return self._load_snapshot(uid, pointer, parts)
        needed = cursor.parts | parts
        if cursor.uid != uid:
            # It is unknown which of the two head items is older.
            return self._load_snapshot(uid, pointer, needed) if is_current else _Missing.NEWER_HEAD
        if cursor.has(uid, pointer, parts):
            return cursor.moved_on(pointer)
        if cursor.version > pointer.version:
            # Loading one part at an older version would set the other parts back to that version.
            return _Missing.NEWER_HEAD
        followed = self._follow_log(cursor, pointer) if needed == cursor.parts else None
        return followed or self._load_snapshot(uid, pointer, needed)

    def _load_snapshot(self, uid: str, pointer: Pointer, parts: Parts) -> _Cursor[S] | _Missing:
        snapshot = pointer.snapshot
        if snapshot is None:
            start = LogPosition(0, _only(parts, in_every_part(BEGINNING)))
            return self._replay_log(uid, start, self._view.empty(), pointer) or _Missing.LOG_ITEM
        found = self._table.chunks(snapshot, parts)
        chunks = [chunk for chunk in found if chunk is not None]
        if len(chunks) != len(found):
            return _Missing.CHUNK
        try:
            state = self._view.applied(self._view.empty(), unpack(chunks))
        except CorruptItem as error:
            raise NothingPublished(MALFORMED) from error
        start = LogPosition(snapshot.version, _only(parts, snapshot.newest))
        return self._replay_log(uid, start, state, pointer) or _Missing.LOG_ITEM

    def _follow_log(self, cursor: _Cursor[S], pointer: Pointer) -> _Cursor[S] | None:
        """Apply the log from the cursor on. Return None if a change is missing or may be missing."""
        has_changed = any(pointer.newest[part] != newest for part, newest in cursor.newest.items())
        # Log items below compactedVersion may be deleted, and an orphan may have the version of a deleted item.
        if has_changed and cursor.version < pointer.compacted_version:
            return None
        start = LogPosition(cursor.version, cursor.newest)
        return self._replay_log(cursor.uid, start, cursor.state, pointer)

    def _replay_log(self, uid: str, start: LogPosition, state: S, pointer: Pointer) -> _Cursor[S] | None:
        """Apply all changes of these parts up to the pointer. Return None if a log item is missing or malformed."""
        items = read_log(self._table, uid, start, pointer.newest)
        if items is None:
            return None
        try:
            # Decode all changes before the first is applied: a view may be unable to undo changes.
            changes = list(unpack(item.data for item in items))
        except CorruptItem:
            return None
        if changes:
            state = self._view.applied(state, changes)
        return _Cursor(uid, pointer.published, _only(start.newest, pointer.newest), state)


def _readable(head: Head | None) -> tuple[str, Pointer]:
    if head is None or head.pointer is None:
        raise NothingPublished(NOTHING_PUBLISHED)
    if head.unreadable_reason:
        raise NothingPublished(head.unreadable_reason)
    return head.uid, head.pointer


def _only(parts: Iterable[SnapshotPart], newest: PartVersions) -> PartVersions:
    return {part: newest[part] for part in parts}
