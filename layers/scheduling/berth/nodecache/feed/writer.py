"""The writer: publishes changes as log items and snapshots, and moves the head's pointer to them.

Guarantees:
- All changes of a publication become visible together, and publications become visible in order.
- A writer publishes only while the head is held under its fence. Requests of a deposed leader are rejected.
- A version and its epoch identify one content of one part. An attempt whose answer was lost is repeated with the same
  bytes and the same nonce: the table shows that it has succeeded, or it succeeds now.
- Every change is announced once, after the publication that made it visible.

Not guaranteed:
- A publication may fail. After TableUnavailable or NotLeading the changes stay pending; the next flush sends them.
- The last publication before the process ends may not be announced, if its answer was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Protocol

from berth import __version__
from berth.lease.clock import Clock, Instant
from berth.lease.lock import Fence
from berth.nodecache.feed.changes import Change, Key, Object, OmissionReason, pack
from berth.nodecache.feed.head import (
    BEGINNING,
    OLDEST_READER,
    SCHEMA_VERSION,
    Observation,
    PartVersions,
    Pointer,
    PublishedVersion,
    SnapshotPointer,
    in_every_part,
)
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, StaleFence


class Leadership(Protocol):
    def fence(self) -> Fence | None:
        """Return the fence for a publication that is sent now; None if the writer may not publish now."""

    def keep(self) -> bool:
        """Renew the lease if a renewal is due, during long work. Return False if the work has to end now."""

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        """Report a successful publication with this fence, sent at this time: it has renewed the lease."""

    def refused(self, fence: Fence) -> None:
        """Report that a publication with this fence was rejected."""


class NotLeading(Exception):
    """The writer may not publish now: the lease has expired, or must be read first."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits in seconds and bytes. `lifetime`: the table may delete a log item or a chunk after this time.
    `least_log_bytes`: smaller logs are not compacted. `retry`: the time between two attempts to write a snapshot."""

    lifetime: float = 24 * 3600.0
    least_log_bytes: int = 256 * 1024
    retry: float = 30.0

    @property
    def compaction_age(self) -> float:
        """Return the maximum age of a snapshot or of an unpublished log item. The rest of the lifetime is a reserve for
        readers, and for times without a watcher."""
        return self.lifetime / 4

    def is_compaction_due(self, pointer: Pointer, wall: float) -> bool:
        """Return whether the log is larger than the last snapshot, or the snapshot is too old or missing. wall: seconds
        since the epoch."""
        if pointer.snapshot is None:
            return pointer.version > 0
        outgrown = pointer.log_bytes > max(pointer.snapshot.size, self.least_log_bytes)
        # Clocks may differ: a snapshot with a time in the future counts as old, too.
        age = abs(wall - pointer.snapshot.written_at)
        return outgrown or age > self.compaction_age


RETENTION = Retention()


class StaleEpoch(StaleFence):
    """Another writer of this epoch or a later one has written this version. This writer can no longer publish."""


@dataclass(slots=True)
class _Batch:
    """A log item that was sent or will be sent. Its bytes never change (see the guarantees of the module)."""

    item: LogItem
    nonce: str
    packed_at: Instant
    written: bool = False


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A publication that has not been answered yet. `changes`: how many unpublished changes it makes visible."""

    pointer: Pointer
    nonce: str
    changes: int
    since: Instant


@dataclass(eq=False)
class Writer:
    """Publishes for one leadership; for one thread. Methods may raise NotLeading, TableUnavailable and StaleFence.
    `pointer`: the predecessor's pointer. `epoch`: the leaseTransitions. `new_id`: returns a unique id. `announce`:
    called after every publication with the published changes, which may be empty, and the pointer. `sleep`: may return
    early."""

    table: CacheTable
    leadership: Leadership
    pointer: Pointer | None
    epoch: int
    clock: Clock
    new_id: Callable[[], str]
    announce: Callable[[Sequence[Change], Pointer], None] = lambda changes, pointer: None
    retention: Retention = RETENTION
    _: KW_ONLY
    sleep: Callable[[float], None]
    omissions: dict[Key, OmissionReason] = field(init=False, default_factory=dict)
    """Objects that cannot be stored completely. They are published without some fields, or as deleted."""
    _unpublished: list[Change] = field(init=False, default_factory=list)
    _packed_count: int = field(init=False, default=0)  # the number of unpublished changes that are in batches
    _batches: list[_Batch] = field(init=False, default_factory=list)
    _unconfirmed: _Attempt | None = field(init=False, default=None)
    _compacted_at: float | None = field(init=False, default=None)

    def flush(self, changes: Iterable[Change], observation: Observation) -> None:
        """Publish these changes, pending changes of earlier flushes, and the observation. Pass each change once, even
        if the flush fails."""
        self._unpublished.extend(changes)
        self.retry_unconfirmed()
        self._pack_batches()
        for batch in self._batches:
            self._put(batch)
        following = self._next_pointer(observation)
        if self._batches:
            following = replace(
                following,
                version=self._batches[-1].item.version,
                last_epoch=self.epoch,
                newest=self._newest(),
                log_bytes=following.log_bytes + sum(len(batch.item.data) for batch in self._batches),
            )
        self._publish(following)

    def replace(self, changes: Iterable[Change], objects: Mapping[Key, Object], observation: Observation) -> None:
        """Publish all objects as a snapshot, without log items: for a leader that cannot continue the published log.

        `changes`: the changes since the last call; `objects` contains them. Every reader must load the snapshot: each
        part now has the snapshot's version. This version is new, so it also replaces an unconfirmed publication.
        """
        self._unpublished.extend(changes)
        following = self._next_pointer(observation)
        latest = self._unconfirmed.pointer.version if self._unconfirmed else following.version
        version = max([latest, *(batch.item.version for batch in self._batches)]) + 1
        following = replace(
            following,
            version=version,
            last_epoch=self.epoch,
            newest=in_every_part(PublishedVersion(version, self.epoch)),
            compacted_version=version,
        )
        self._publish(self._with_snapshot(objects, following))

    def compact_if_due(self, objects: Mapping[Key, Object], observation: Observation) -> bool:
        """Write a snapshot if one is due, and return whether it was written. `objects`: the published state. Call it
        after a flush that published everything, before the next change."""
        pointer = self.pointer
        if pointer is None or not self.is_fully_published:
            return False
        now = self.clock.monotonic()
        is_retry = self._compacted_at is not None and now - self._compacted_at < self.retention.retry
        if is_retry or not self.retention.is_compaction_due(pointer, self.clock.wall()):
            return False
        self._compacted_at = now
        # Readers at the last snapshot's version or above can still follow the log, which stays for a grace period.
        following = replace(
            self._next_pointer(observation), compacted_version=pointer.snapshot.version if pointer.snapshot else 0
        )
        self._publish(self._with_snapshot(objects, following))
        return True

    def retry_unconfirmed(self) -> None:
        """Repeat a publication whose answer was lost, before anything else is published."""
        if self._unconfirmed is not None:
            self._send(self._unconfirmed)

    @property
    def is_backlog_expiring(self) -> bool:
        """Return whether pending log items may expire before they are published. Then `replace` is necessary."""
        oldest = self._unconfirmed.since if self._unconfirmed else self._batches[0].packed_at if self._batches else None
        return oldest is not None and self.clock.now().longest_since(oldest) > self.retention.compaction_age

    @property
    def is_fully_published(self) -> bool:
        return not self._unpublished and self._unconfirmed is None

    def _pack_batches(self) -> None:
        changes = self._unpublished[self._packed_count :]
        packed = pack(changes)
        for resource, key, _ in changes:
            self.omissions.pop((resource, key), None)
        self.omissions |= packed.omissions
        version = self.pointer.version if self.pointer else 0
        if self._batches:
            version = self._batches[-1].item.version
        newest, now = dict(self._newest()), self.clock.now()
        for part, items in packed.by_part.items():
            for data in items:
                version += 1
                item = LogItem(part, version, self.epoch, newest[part], data)
                newest[part] = item.published
                self._batches.append(_Batch(item, self.new_id(), now))
        self._packed_count = len(self._unpublished)

    def _newest(self) -> PartVersions:
        published = self.pointer.newest if self.pointer else in_every_part(BEGINNING)
        return {**published, **{batch.item.part: batch.item.published for batch in self._batches}}

    def _put(self, batch: _Batch) -> None:
        if batch.written:
            return
        fence = self._fence()
        expires_at = self.clock.wall() + self.retention.lifetime
        if self.table.put_log(fence.uid, batch.item, batch.nonce, expires_at) is LogWrite.STALE_EPOCH:
            self.leadership.refused(fence)
            raise StaleEpoch(
                f"version {batch.item.version} of {batch.item.part} has been written in this epoch or a later one"
            )
        batch.written = True

    def _with_snapshot(self, objects: Mapping[Key, Object], pointer: Pointer) -> Pointer:
        self._fence()
        packed = pack(Change(resource, key, obj) for (resource, key), obj in objects.items())
        self.omissions = dict(packed.omissions)
        now = self.clock.wall()
        chunks = packed.items
        snapshot = SnapshotPointer(
            id=self.new_id(),
            version=pointer.version,
            newest=pointer.newest,
            chunks_by_part={part: len(items) for part, items in packed.by_part.items()},
            size=sum(map(len, chunks)),
            written_at=now,
        )
        self.table.put_chunks(snapshot.id, chunks, now + self.retention.lifetime, self._wait)
        return replace(pointer, snapshot=snapshot, log_bytes=0)

    def _wait(self, seconds: float) -> None:
        """Wait between the chunks of a snapshot, and renew the lease: a snapshot may take longer than the lease."""
        self.sleep(seconds)
        if not self.leadership.keep():
            raise NotLeading

    def _next_pointer(self, observation: Observation) -> Pointer:
        now = self.clock.wall()
        if self.pointer is None:
            return Pointer(0, 0, in_every_part(BEGINNING), None, 0, 0, observation, now, __version__)
        return replace(
            self.pointer,
            observation=observation,
            heartbeat=now,
            writer_version=__version__,
            # Write this release's schema, because this writer does not update attributes that another release added.
            schema_version=SCHEMA_VERSION,
            oldest_reader=OLDEST_READER,
        )

    def _fence(self) -> Fence:
        """Return the fence for the next request. Raises NotLeading: an item that was sent after the lease expired might
        never be published."""
        fence = self.leadership.fence()
        if fence is None:
            raise NotLeading
        return fence

    def _publish(self, pointer: Pointer) -> None:
        self._fence()
        self._unconfirmed = _Attempt(pointer, self.new_id(), len(self._unpublished), self.clock.now())
        self._send(self._unconfirmed)

    def _send(self, attempt: _Attempt) -> None:
        fence = self._fence()
        sent = self.clock.now()
        try:
            self.table.publish(attempt.pointer, fence, sent.wall, attempt.nonce)
        except StaleFence:
            self.leadership.refused(fence)
            raise
        self.leadership.renewed(fence, sent)
        self.pointer = attempt.pointer
        visible = self._unpublished[: attempt.changes]
        del self._unpublished[: attempt.changes]
        self._unconfirmed, self._batches, self._packed_count = None, [], 0
        self.announce(visible, attempt.pointer)
