"""Watchers with one rule left out. Each loses data, lets two leaders write at once, or makes the cache unreadable; the
simulation must notice. spec/fails has most of them too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

import pytest

from berth.lease import elector
from berth.lease.clock import Clock
from berth.lease.config import ReleaseOutcome
from berth.lease.elector import LeaderElector
from berth.lease.lock import Fence, Lease, LeaseLock, LeaseSpec, Written, micro_time
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import Observation, in_every_part
from berth.nodecache.feed.leader import Leader
from berth.nodecache.feed.table import LogItem, LogWrite, TableUnavailable
from berth.nodecache.feed.watcher import Watcher
from berth.nodecache.feed.writer import Retention, Writer
from berth.scheduling.snapshot.parts import SnapshotPart
from berth_cli.server.store import cache_table as in_memory_table
from berth_cli.server.store.cache_table import InMemoryCacheTable
from berth_cli.server.store.lease_lock import InMemoryItem
from tests.simulation.broken import functions_of

from .broken_readers import chain_of_versions_alone

# The patches are methods with the types of the methods that they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def link_to_an_item_of_any_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log item names the previous published item of any part: a reader of one part cannot follow it."""
    pack = Writer._pack_batches

    def relinked(self):
        count = len(self._batches)
        latest = max(self._newest().values())
        pack(self)
        for batch in self._batches[count:]:
            batch.item, latest = replace(batch.item, previous=latest), batch.item.published

    monkeypatch.setattr(Writer, "_pack_batches", relinked)


def head_names_what_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """A publication treats unpublished items in the logs of the other parts as published."""
    publish = Writer._publish

    def with_orphans(self, pointer):
        if self._batches:
            through = dict.fromkeys(SnapshotPart, pointer.version)
            items = self.table.log(self._fence().uid, self.pointer.version, through)
            orphans = {item.part: item.published for item in items if item.epoch != self.epoch}
            written = {batch.item.part: batch.item.published for batch in self._batches}
            pointer = replace(pointer, newest={**pointer.newest, **orphans, **written})
        publish(self, pointer)

    monkeypatch.setattr(Writer, "_publish", with_orphans)


def replacement_leaves_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replaced state has no log items. So a reader whose part seems to be unchanged reads nothing."""
    publish = Writer._publish

    def as_before(self, pointer):
        if pointer.compacted_version == pointer.version and self.pointer is not None:
            pointer = replace(pointer, newest=self.pointer.newest)
        publish(self, pointer)

    monkeypatch.setattr(Writer, "_publish", as_before)


def snapshot_without_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of each part continues from the snapshot's version, though its newest item is older."""
    with_snapshot = Writer._with_snapshot

    def of_its_version(self, objects, pointer):
        found = with_snapshot(self, objects, pointer)
        assert found.snapshot is not None
        return replace(found, snapshot=replace(found.snapshot, newest=in_every_part(found.published)))

    monkeypatch.setattr(Writer, "_with_snapshot", of_its_version)


def release_without_a_look_at_the_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    """client-go's flaw: a former leader that was paused blanks its successor's record."""

    def blank(lock: LeaseLock, identity: str, clock: Clock) -> ReleaseOutcome:
        found = lock.get()
        if not isinstance(found, Lease):
            return ReleaseOutcome.UNKNOWN
        spec = found.spec
        # It also writes the epoch of the term that ended, as a release that writes its own epoch would.
        written = lock.update(
            found, LeaseSpec("", 1, spec.acquire_time, clock.wall(), max(0, spec.lease_transitions - 1))
        )
        return ReleaseOutcome.RELEASED if isinstance(written, Written) else ReleaseOutcome.UNKNOWN

    monkeypatch.setattr(elector, "release", blank)


def take_over_in_the_same_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two leaders write in one epoch: neither can replace the other's log items."""
    claim = LeaderElector._claim

    def same(self, found, lease_transitions, acquire_time=None):
        return claim(self, found, max(0, lease_transitions - 1), acquire_time)

    monkeypatch.setattr(LeaderElector, "_claim", same)


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
        held = {"holderIdentity": fence.holder_identity, "leaseTransitions": fence.lease_transitions, "uid": fence.uid}
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
        table, self.table = self.table, Careless(self.table)
        try:
            return with_snapshot(self, objects, pointer)
        finally:
            self.table = table

    monkeypatch.setattr(Writer, "_with_snapshot", regardless)


def log_item_without_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write of a log item replaces the existing item."""

    def put_log(self: InMemoryCacheTable, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        self._log[uid, item.part, item.version] = (item, nonce)
        return LogWrite.WRITTEN

    monkeypatch.setattr(InMemoryCacheTable, "put_log", put_log)


def changes_cut_anew_after_a_lost_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version's bytes are not final: a late attempt replaces an item that the same writer has since published."""
    flush = Writer.flush

    def put_log(self: InMemoryCacheTable, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        key = uid, item.part, item.version
        found = self._log.get(key)
        if found is not None and found[0].epoch > item.epoch:
            return LogWrite.STALE_EPOCH
        self._log[key] = (item, nonce)
        return LogWrite.WRITTEN

    def flush_anew(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        if self._unconfirmed is None:
            self._batches, self._packed_count = [], 0
        flush(self, changes, observation)

    monkeypatch.setattr(InMemoryCacheTable, "put_log", put_log)
    monkeypatch.setattr(Writer, "flush", flush_anew)


def changes_of_a_failed_flush_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes that could not be published are dropped, and the positions advance."""
    flush = Writer.flush

    def flush_once(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        if self._unconfirmed is None:
            self._batches, self._packed_count, self._unpublished = [], 0, []
        flush(self, changes, observation)

    monkeypatch.setattr(Writer, "flush", flush_once)


def publication_in_doubt_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next publication assumes that the publication whose answer was lost was not written."""
    flush = Writer.flush

    def flush_on(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        if self._unconfirmed is not None:
            self._unconfirmed, self._batches, self._packed_count = None, [], 0
        flush(self, changes, observation)

    monkeypatch.setattr(Writer, "flush", flush_on)
    monkeypatch.setattr(Writer, "retry_unconfirmed", lambda self: None)


def going_on_from_what_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new leader treats an unreadable state as empty, and only adds to it."""
    published = Watcher._load_published

    def or_empty(self):
        pointer, objects = published(self)
        return pointer, {} if objects is None else objects

    monkeypatch.setattr(Watcher, "_load_published", or_empty)


def full_snapshot_without_compacted_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of an older version look for a log item where there is only a snapshot, and find an orphan; without the
    epochs in the links they apply it."""
    publish = Writer._publish

    def as_before(self, pointer):
        if pointer.compacted_version == pointer.version and self.pointer is not None:
            pointer = replace(pointer, compacted_version=self.pointer.compacted_version)
        publish(self, pointer)

    chain_of_versions_alone(monkeypatch)
    monkeypatch.setattr(Writer, "_publish", as_before)


def snapshot_never_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """If little changes, the snapshot's chunks expire while the head points to them."""
    monkeypatch.setattr(Retention, "compaction_age", property(lambda self: math.inf))


def positions_of_what_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush records the positions of the watches, though it holds back half of the changes."""
    publish = Leader._publish

    def half(self):
        changed = self.state._changed
        waiting = dict(list(changed.items())[len(changed) // 2 :]) if len(changed) > 1 and self._continues else {}
        for key in waiting:
            del changed[key]
        publish(self)
        changed = self.state._changed
        self.state._changed = waiting | changed

    monkeypatch.setattr(Leader, "_publish", half)


BROKEN_WATCHERS = functions_of(globals(), "monkeypatch")
