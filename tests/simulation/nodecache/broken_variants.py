"""The protocol with one rule left out. Each loses data, or lets two write at once, or makes the cache unreadable; the
simulation must notice. spec/fails has most of them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

import pytest

from berth.lease import elector
from berth.lease.candidate import Acquisition, Candidate, ObservedRecord
from berth.lease.clock import Clock
from berth.lease.lock import LeaseLock, Written
from berth.lease.outcomes import ReleaseOutcome
from berth.lease.record import Fence, Lease, LeaseSpec, micro_time
from berth.nodecache.feed import reader
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Leader
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.table import LogItem, LogWrite, TableUnavailable
from berth.nodecache.feed.watcher import Watcher
from berth.nodecache.feed.writer import Retention, Writer
from berth_cli.embedded_store import cache_table as in_memory_table
from berth_cli.embedded_store.cache_table import InMemoryCacheTable
from berth_cli.embedded_store.lease_lock import InMemoryItem

Break = Callable[[pytest.MonkeyPatch], None]
BEYOND = 5_000

# What is patched in are methods; their types are those of what they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def cursor_is_the_last_version_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader goes on to whatever stands in the log, published or not."""
    along = NodeCacheReader._replay_log

    def beyond(self, cursor, pointer):
        items = self._table.log(cursor.uid, cursor.version, BEYOND)
        if items and items[-1].version > pointer.version:
            pointer = replace(pointer, version=items[-1].version, last_epoch=items[-1].epoch)
        return along(self, cursor, pointer)

    monkeypatch.setattr(NodeCacheReader, "_replay_log", beyond)


def log_without_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands in the log at the right versions counts as published."""
    monkeypatch.setattr(
        reader, "is_unbroken_chain", lambda items, after, through: len(items) == through.version - after.version
    )


def log_without_the_chain_and_compacted_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """And also where the log may have been cleaned."""
    following = NodeCacheReader._cursor_for

    def below(self, uid, pointer, parts, *, is_current):
        return following(self, uid, replace(pointer, compacted_version=0), parts, is_current=is_current)

    log_without_the_chain(monkeypatch)
    monkeypatch.setattr(NodeCacheReader, "_cursor_for", below)


def chain_of_the_needed_parts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log item of a part that the reader does not need may be absent, or another's."""
    along = NodeCacheReader._replay_log

    def among_needed(self, cursor, pointer):
        table = self._table

        class Needed:
            def log(self, *arguments):
                items = table.log(*arguments)
                needed = [item for item in items if item.part in cursor.parts]
                if len(needed) < len(items):
                    monkeypatch.setattr(reader, "is_unbroken_chain", lambda items, after, through: True)
                return needed

        unbroken, self._table = reader.is_unbroken_chain, Needed()
        try:
            return along(self, cursor, pointer)
        finally:
            self._table = table
            monkeypatch.setattr(reader, "is_unbroken_chain", unbroken)

    monkeypatch.setattr(NodeCacheReader, "_replay_log", among_needed)


def further_part_at_an_older_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow thread loads a part that its environment lacks, at the head that it has read."""
    following = NodeCacheReader._cursor_for

    def whatever(self, uid, pointer, parts, *, is_current):
        cursor = self._cursor
        if cursor is not None and cursor.version > pointer.version and not parts <= cursor.parts:
            return self._load_snapshot(uid, pointer, cursor.parts | parts)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", whatever)


def further_part_from_the_log_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that needs one part more goes on from its version, as if it had that part until then."""
    following = NodeCacheReader._cursor_for

    def as_if(self, uid, pointer, parts, *, is_current):
        if self._cursor is not None:
            self._cursor = replace(self._cursor, parts=self._cursor.parts | parts)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", as_if)


def log_key_without_the_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that was made anew begins at the old one's versions and epochs, and takes its log for its own."""
    log, put_log = InMemoryCacheTable.log, InMemoryCacheTable.put_log
    monkeypatch.setattr(InMemoryCacheTable, "log", lambda self, uid, *rest: log(self, "", *rest))
    monkeypatch.setattr(InMemoryCacheTable, "put_log", lambda self, uid, *rest: put_log(self, "", *rest))


def cursor_without_the_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader does not notice that the head was made anew, at version 0."""
    following = NodeCacheReader._cursor_for

    def same(self, uid, pointer, parts, *, is_current):
        if self._cursor is not None:
            self._cursor = replace(self._cursor, uid=uid)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", same)


def old_head_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow thread takes its environment back to the head that it has read."""
    following = NodeCacheReader._cursor_for

    def whatever(self, uid, pointer, parts, *, is_current):
        cursor = self._cursor
        if cursor is not None and cursor.version > pointer.version:
            return self._load_snapshot(uid, pointer, cursor.parts | parts)
        return following(self, uid, pointer, parts, is_current=is_current)

    monkeypatch.setattr(NodeCacheReader, "_cursor_for", whatever)


def release_without_a_look_at_the_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    """client-go's flaw: an ex-leader that was paused blanks its successor's record."""

    def blank(lock: LeaseLock, candidate: Candidate, observed: ObservedRecord, clock: Clock) -> ReleaseOutcome:
        found = lock.get()
        if not isinstance(found, Lease):
            return ReleaseOutcome.UNKNOWN
        spec = found.spec
        # And, as a release would if it wrote its own epoch: the epoch of the term that ended.
        written = lock.update(
            found, LeaseSpec("", 1, spec.acquire_time, clock.wall(), max(0, spec.lease_transitions - 1))
        )
        return ReleaseOutcome.RELEASED if isinstance(written, Written) else ReleaseOutcome.UNKNOWN

    monkeypatch.setattr(elector, "release", blank)


def take_over_in_the_same_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two leaders write in one epoch: neither can replace what the other has left."""
    claim = Acquisition._claim

    def same(self, found, lease_transitions, acquire_time=None):
        return claim(self, found, max(0, lease_transitions - 1), acquire_time)

    monkeypatch.setattr(Acquisition, "_claim", same)


def publication_without_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is written without regard to the lease."""

    def publish(item: InMemoryItem, fence: Fence, put: Mapping[str, object], *, renew_time: float, nonce: str) -> None:
        renewed = {**put, "renewTime": micro_time(renew_time), "nonce": nonce}
        found = item.get()
        if found is not None:
            item.update(lambda now: now is not None, {**renewed, "resourceVersion": found["resourceVersion"] + 1})  # type: ignore[operator]

    monkeypatch.setattr(in_memory_table, "publish", publish)


def publication_without_the_resource_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is written by the holder of the lease, but a late copy may arrive after a newer publication."""

    def publish(item: InMemoryItem, fence: Fence, put: Mapping[str, object], *, renew_time: float, nonce: str) -> None:
        held = {
            "holderIdentity": fence.holder_identity,
            "leaseTransitions": fence.lease_transitions,
            "uid": fence.uid,
        }
        found = item.get() or {}
        item.update(
            lambda now: now is not None and all(now.get(name) == value for name, value in held.items()),
            {
                **put,
                "resourceVersion": found.get("resourceVersion", 0) + 1,  # type: ignore[operator]
                "renewTime": micro_time(renew_time),
                "nonce": nonce,
            },
        )

    monkeypatch.setattr(in_memory_table, "publish", publish)


def head_before_its_log_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is published though a log item was not acknowledged."""
    put = Writer._put

    def put_or_not(self, batch):
        try:
            put(self, batch)
        except TableUnavailable:
            batch.written = True

    monkeypatch.setattr(Writer, "_put", put_or_not)


def head_before_its_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head points to a snapshot though a chunk was not acknowledged."""
    with_snapshot = Writer._with_snapshot

    class Careless:
        def __init__(self, table):
            self._table = table

        def put_chunks(self, *arguments):
            with suppress(TableUnavailable):
                self._table.put_chunks(*arguments)

    def regardless(self, objects, pointer):
        table, self._table = self._table, Careless(self._table)
        try:
            return with_snapshot(self, objects, pointer)
        finally:
            self._table = table

    monkeypatch.setattr(Writer, "_with_snapshot", regardless)


def log_item_without_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write of a log item replaces the existing item."""

    def put_log(self: InMemoryCacheTable, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        self._log[uid, item.version] = (item, nonce)
        return LogWrite.WRITTEN

    monkeypatch.setattr(InMemoryCacheTable, "put_log", put_log)


def changes_cut_anew_after_a_lost_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version's bytes are not final: a late attempt replaces what its own writer has published meanwhile."""
    flush = Writer.flush

    def put_log(self: InMemoryCacheTable, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        found = self._log.get((uid, item.version))
        if found is not None and found[0].epoch > item.epoch:
            return LogWrite.STALE_EPOCH
        self._log[uid, item.version] = (item, nonce)
        return LogWrite.WRITTEN

    def flush_anew(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        if self._unconfirmed is None:
            self._batches, self._packed_count = [], 0
        flush(self, changes, observation)

    monkeypatch.setattr(InMemoryCacheTable, "put_log", put_log)
    monkeypatch.setattr(Writer, "flush", flush_anew)


def changes_of_a_failed_flush_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be published is left out, and the positions go on."""
    flush = Writer.flush

    def flush_once(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        if self._unconfirmed is None:
            self._batches, self._packed_count, self._unpublished = [], 0, []
        flush(self, changes, observation)

    monkeypatch.setattr(Writer, "flush", flush_once)


def publication_in_doubt_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is made as if the one whose answer was lost had not been written."""
    flush = Writer.flush

    def flush_on(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        if self._unconfirmed is not None:
            self._unconfirmed, self._batches, self._packed_count = None, [], 0
        flush(self, changes, observation)

    monkeypatch.setattr(Writer, "flush", flush_on)
    monkeypatch.setattr(Writer, "retry_unconfirmed", lambda self: None)


def going_on_from_what_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new leader takes an unreadable state for an empty one, and only adds to it."""
    published = Watcher._load_published

    def or_empty(self):
        pointer, objects = published(self)
        return pointer, {} if objects is None else objects

    monkeypatch.setattr(Watcher, "_load_published", or_empty)


def full_snapshot_without_compacted_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of an older version look for a log item where there is a snapshot only, and find an orphan; without the
    chain they take it."""
    publish = Writer._publish

    def as_before(self, pointer):
        if pointer.compacted_version == pointer.version and self.pointer is not None:
            pointer = replace(pointer, compacted_version=self.pointer.compacted_version)
        publish(self, pointer)

    log_without_the_chain(monkeypatch)
    monkeypatch.setattr(Writer, "_publish", as_before)


def snapshot_never_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little changes, the snapshot's chunks expire while the head points to them."""
    monkeypatch.setattr(Retention, "compaction_age", property(lambda self: math.inf))


def positions_of_what_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush says it has come as far as the watches, though it waits with half of the changes."""
    publish = Leader._publish

    def half(self):
        changed = self._state._changed
        waiting = dict(list(changed.items())[len(changed) // 2 :]) if len(changed) > 1 and self._continues else {}
        for key in waiting:
            del changed[key]
        publish(self)
        changed = self._state._changed
        self._state._changed = waiting | changed

    monkeypatch.setattr(Leader, "_publish", half)


BROKEN: Mapping[str, Break] = {
    broken.__name__: broken
    for broken in (
        cursor_is_the_last_version_seen,
        log_without_the_chain,
        log_without_the_chain_and_compacted_version,
        chain_of_the_needed_parts_only,
        further_part_at_an_older_head,
        further_part_from_the_log_alone,
        log_key_without_the_uid,
        cursor_without_the_uid,
        old_head_accepted,
        release_without_a_look_at_the_holder,
        take_over_in_the_same_epoch,
        publication_without_the_fence,
        publication_without_the_resource_version,
        head_before_its_log_items,
        head_before_its_chunks,
        log_item_without_the_epoch,
        changes_cut_anew_after_a_lost_answer,
        changes_of_a_failed_flush_forgotten,
        publication_in_doubt_forgotten,
        going_on_from_what_cannot_be_loaded,
        full_snapshot_without_compacted_version,
        snapshot_never_written_anew,
        positions_of_what_is_not_published,
    )
}
