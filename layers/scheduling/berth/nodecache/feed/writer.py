"""The writer: what the leader publishes, and how.

Guarantees. Changes become visible all or none, in order, and only while the head is held under this writer's fence: a
deposed leader publishes nothing, whatever it still sends. An attempt whose answer was lost is repeated with the same
bytes and the same nonce, so that it is found to have succeeded, or succeeds now; never twice with different content. So
a version and its epoch name one content, on which the chain rests. Every change that was handed over is announced once,
after the publication that made it visible.

Not guaranteed: that a publication happens. TableUnavailable and NotLeading leave the changes pending; the next flush
takes them up. What was published last before this process ends may stay unannounced, if its answer was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from berth import __version__
from berth.lease.clock import Clock, Instant
from berth.lease.record import Fence
from berth.nodecache.feed.changes import Change, Key, Object, OmissionReason, Packed, pack
from berth.nodecache.feed.head import OLDEST_READER, SCHEMA_VERSION, Observation, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, StaleFence


class Leadership(Protocol):
    """What the elector knows, as far as a publication needs it."""

    def fence(self) -> Fence | None:
        """What a publication now is conditional on; None: nothing may be published now."""

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        """A publication under this fence, sent at that time, was written: it is a renewal."""

    def refused(self, fence: Fence) -> None:
        """A publication under this fence was refused."""


class NotLeading(Exception):
    """Nothing may be published now: the lease has run out, or its record has to be read first."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds and bytes.

    `lifetime`: after that the table may drop a log item or a chunk. `compaction_age`: so old a snapshot may become, and
    so old what is not published yet; the rest of the lifetime is for readers and for times without a watcher.
    `least_log_bytes`: below that a log is not worth a snapshot, however small the cluster. `retry`: between two
    attempts to write one.
    """

    lifetime: float = 24 * 3600.0
    least_log_bytes: int = 256 * 1024
    retry: float = 30.0

    @property
    def compaction_age(self) -> float:
        return self.lifetime / 4

    def is_compaction_due(self, pointer: Pointer, wall: float) -> bool:
        """Whether the log has outgrown the last snapshot, or that one has grown old. wall: seconds since the epoch."""
        if pointer.snapshot is None:
            return pointer.version > 0
        outgrown = pointer.log_bytes > max(pointer.snapshot.size, self.least_log_bytes)
        # By a clock that is off either way: a snapshot of the future is as good as an old one.
        age = abs(wall - pointer.snapshot.written_at)
        return outgrown or age > self.compaction_age


class StaleEpoch(StaleFence):
    """A version of this writer's is taken by another, of this epoch or a later one: it can never publish again."""


@dataclass(slots=True)
class _Batch:
    """A log item that an attempt was made to write. Its bytes are settled (see the module's guarantees)."""

    item: LogItem
    nonce: str
    packed_at: Instant
    written: bool = False


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A publication whose answer has not come. `changes`: how many of the unpublished ones become visible by it."""

    pointer: Pointer
    nonce: str
    changes: int
    since: Instant


class Writer:
    """One per leadership; for one thread. Every method may raise NotLeading, TableUnavailable and StaleFence."""

    def __init__(
        self,
        table: CacheTable,
        leadership: Leadership,
        pointer: Pointer | None,
        epoch: int,
        clock: Clock,
        new_id: Callable[[], str],
        announce: Callable[[Sequence[Change], Pointer], None] = lambda changes, pointer: None,
        retention: Retention | None = None,
    ) -> None:
        """`pointer`: what the predecessor published. `epoch`: this leadership's leaseTransitions.

        `new_id`: never the same twice. `announce`: called after every publication with the changes that it made
        visible, which may be none, and with the pointer it wrote; the caller gets what it raises.
        """
        self.pointer = pointer
        self.omissions: dict[Key, OmissionReason] = {}
        """Objects that no item can hold; for readers they are gone."""
        self._table = table
        self._leadership = leadership
        self._epoch = epoch
        self._clock = clock
        self._new_id = new_id
        self._announce = announce
        self._retention = retention or Retention()
        self._unpublished: list[Change] = []
        self._packed_count = 0  # so many of them are in the batches
        self._batches: list[_Batch] = []
        self._unconfirmed: _Attempt | None = None
        self._compacted_at: float | None = None

    def flush(self, changes: Iterable[Change], observation: Observation) -> None:
        """Publish these changes, those that an earlier flush could not, and what was observed.

        Without changes it is the heartbeat. The caller hands every change over once, whatever came of the flush.
        """
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
                last_epoch=self._epoch,
                log_bytes=following.log_bytes + sum(len(batch.item.data) for batch in self._batches),
            )
        self._publish(following)

    def replace(self, changes: Iterable[Change], objects: Mapping[Key, Object], observation: Observation) -> None:
        """Publish all there is as a snapshot, and no log: where a leadership cannot go on from what is published.

        `changes` are those not handed over before, and are contained in `objects`. Every reader has to load it
        (`compacted_version`), so no orphan in the log is taken for the way there. It also overtakes whatever is in
        doubt: its version is one that was never written.
        """
        self._unpublished.extend(changes)
        following = self._next_pointer(observation)
        latest = self._unconfirmed.pointer.version if self._unconfirmed else following.version
        version = max([latest, *(batch.item.version for batch in self._batches)]) + 1
        following = replace(following, version=version, last_epoch=self._epoch, compacted_version=version)
        self._publish(self._with_snapshot(objects, following))

    def compact_if_due(self, objects: Mapping[Key, Object], observation: Observation) -> bool:
        """Write a snapshot when the log has outgrown the last one, or that one has grown old. True when it did.

        `objects` is the published state: call it after a flush that published all, and before the next change.
        """
        pointer = self.pointer
        if pointer is None or not self.is_fully_published:
            return False
        if not self._retention.is_compaction_due(pointer, self._clock.wall()) or not self._may_compact_again():
            return False
        # Readers that have come to the last snapshot go on with the log: it is still there for a grace period.
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
        """Whether what is not published yet may expire before it is: then only `replace` is of use."""
        oldest = self._unconfirmed.since if self._unconfirmed else self._batches[0].packed_at if self._batches else None
        return oldest is not None and self._clock.now().longest_since(oldest) > self._retention.compaction_age

    @property
    def is_fully_published(self) -> bool:
        """Whether all changes that were handed over are published, and known to be."""
        return not self._unpublished and self._unconfirmed is None

    def _may_compact_again(self) -> bool:
        now = self._clock.monotonic()
        if self._compacted_at is not None and now - self._compacted_at < self._retention.retry:
            return False
        self._compacted_at = now
        return True

    def _pack_batches(self) -> None:
        """New changes become log items, with the versions after those of the batches that wait already."""
        changes = self._unpublished[self._packed_count :]
        packed = pack(changes)
        self._note_omissions(changes, packed)
        version, previous = (self.pointer.version, self.pointer.last_epoch) if self.pointer else (0, 0)
        if self._batches:
            version, previous = self._batches[-1].item.version, self._epoch
        now = self._clock.now()
        for data in packed.items:
            version += 1
            self._batches.append(_Batch(LogItem(version, self._epoch, previous, data), self._new_id(), now))
            previous = self._epoch
        self._packed_count = len(self._unpublished)

    def _note_omissions(self, changes: Iterable[Change], packed: Packed) -> None:
        for resource, key, _ in changes:
            self.omissions.pop((resource, key), None)
        self.omissions |= packed.omissions

    def _put(self, batch: _Batch) -> None:
        if batch.written:
            return
        fence = self._fence()
        expires_at = self._clock.wall() + self._retention.lifetime
        if self._table.put_log(fence.uid, batch.item, batch.nonce, expires_at) is LogWrite.STALE_EPOCH:
            self._leadership.refused(fence)
            raise StaleEpoch(f"version {batch.item.version} has been written in this epoch or a later one")
        batch.written = True

    def _with_snapshot(self, objects: Mapping[Key, Object], pointer: Pointer) -> Pointer:
        self._fence()
        packed = pack(Change(resource, key, obj) for (resource, key), obj in objects.items())
        self.omissions = dict(packed.omissions)
        now = self._clock.wall()
        snapshot = SnapshotPointer(
            id=self._new_id(),
            version=pointer.version,
            epoch=pointer.last_epoch,
            chunks=len(packed.items),
            size=sum(map(len, packed.items)),
            written_at=now,
        )
        self._table.put_chunks(snapshot.id, packed.items, now + self._retention.lifetime)
        return replace(pointer, snapshot=snapshot, log_bytes=0)

    def _next_pointer(self, observation: Observation) -> Pointer:
        """The pointer as it is, with this writer's signs of life."""
        now = self._clock.wall()
        if self.pointer is None:
            return Pointer(0, 0, None, 0, 0, observation, now, __version__)
        return replace(
            self.pointer,
            observation=observation,
            heartbeat=now,
            writer_version=__version__,
            # What another release knew of besides is not kept up by this one.
            schema_version=SCHEMA_VERSION,
            oldest_reader=OLDEST_READER,
        )

    def _fence(self) -> Fence:
        """Asked before every request: what was sent under a lease that has run out might expire unpublished."""
        fence = self._leadership.fence()
        if fence is None:
            raise NotLeading
        return fence

    def _publish(self, pointer: Pointer) -> None:
        """Publish this, which says all that is unpublished."""
        self._fence()
        self._unconfirmed = _Attempt(pointer, self._new_id(), len(self._unpublished), self._clock.now())
        self._send(self._unconfirmed)

    def _send(self, attempt: _Attempt) -> None:
        fence = self._fence()
        sent = self._clock.now()
        try:
            self._table.publish(attempt.pointer, fence, sent.wall, attempt.nonce)
        except StaleFence:
            self._leadership.refused(fence)
            raise
        self._leadership.renewed(fence, sent)
        self.pointer = attempt.pointer
        visible = self._unpublished[: attempt.changes]
        del self._unpublished[: attempt.changes]
        self._unconfirmed, self._batches, self._packed_count = None, [], 0
        self._announce(visible, attempt.pointer)
