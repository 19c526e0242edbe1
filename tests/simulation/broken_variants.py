"""The protocol with one rule left out. Each loses data or lets two write at once; the simulation must notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest

from berth.lease import elector
from berth.lease.candidate import Candidate, ObservedRecord
from berth.lease.clock import Clock
from berth.lease.in_memory_lock import InMemoryItem
from berth.lease.lock import LeaseLock, Written
from berth.lease.outcomes import ReleaseOutcome
from berth.lease.record import Fence, Lease, LeaseSpec, micro_time
from berth.nodecache.feed import in_memory_table
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.in_memory_table import InMemoryCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.table import LogItem, LogWrite, TableUnavailable
from berth.nodecache.feed.writer import Writer

Break = Callable[[pytest.MonkeyPatch], None]
BEYOND = 5_000


def cursor_is_the_last_version_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader goes on to whatever stands in the log, published or not."""
    along = NodeCacheReader._along_the_log

    def beyond(self, cursor, pointer):  # type: ignore[no-untyped-def]
        items = self._table.log(cursor.version, BEYOND)
        last = items[-1].version if items else pointer.version
        return along(self, cursor, replace(pointer, version=max(last, pointer.version)))

    monkeypatch.setattr(NodeCacheReader, "_along_the_log", beyond)


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


def publication_without_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is written whoever holds the lease."""

    def publish(item: InMemoryItem, fence: Fence, put: Mapping[str, object], *, renew_time: float, nonce: str) -> None:
        item.update(lambda found: found is not None, {**put, "renewTime": micro_time(renew_time), "nonce": nonce})

    monkeypatch.setattr(in_memory_table, "publish", publish)


def head_before_its_log_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is published though a log item was not acknowledged."""
    put = Writer._put

    def put_or_not(self, batch):  # type: ignore[no-untyped-def]
        try:
            put(self, batch)
        except TableUnavailable:
            batch.written = True

    monkeypatch.setattr(Writer, "_put", put_or_not)


def log_item_without_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a log item replaces what stands there."""

    def put_log(self: InMemoryCacheTable, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        self._log[item.version] = (item, nonce)
        return LogWrite.WRITTEN

    monkeypatch.setattr(InMemoryCacheTable, "put_log", put_log)


def changes_cut_anew_after_a_lost_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version's bytes are not settled: a late attempt replaces what its own writer has published meanwhile."""
    flush = Writer.flush

    def put_log(self: InMemoryCacheTable, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        found = self._log.get(item.version)
        if found is not None and found[0].epoch > item.epoch:
            return LogWrite.OUTRANKED
        self._log[item.version] = (item, nonce)
        return LogWrite.WRITTEN

    def flush_anew(self: Writer, changes: Iterable[Change], observation: Observation) -> None:
        handed_over = [*getattr(self, "again", []), *changes]
        self._batches = []
        self.again = handed_over  # type: ignore[attr-defined]
        flush(self, handed_over, observation)
        self.again = []  # type: ignore[attr-defined]

    monkeypatch.setattr(InMemoryCacheTable, "put_log", put_log)
    monkeypatch.setattr(Writer, "flush", flush_anew)


BROKEN: Mapping[str, Break] = {
    broken.__name__: broken
    for broken in (
        cursor_is_the_last_version_seen,
        release_without_a_look_at_the_holder,
        publication_without_the_fence,
        head_before_its_log_items,
        log_item_without_the_epoch,
        changes_cut_anew_after_a_lost_answer,
    )
}
