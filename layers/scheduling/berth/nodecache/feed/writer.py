"""The writer: what the leader publishes, and how.

Guarantees. Changes become visible all or none, in order, and only while the head is held under this writer's fence: a
deposed leader publishes nothing, whatever it still sends. An attempt whose answer was lost is repeated with the same
bytes and the same nonce, so that it is found to have succeeded, or succeeds now; never twice with different content.

Not guaranteed: that a publication happens. TableUnavailable and NotLeading leave the changes pending; the next flush
takes them up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from berth import __version__
from berth.lease.clock import Clock, Instant
from berth.lease.record import Fence
from berth.nodecache.feed.changes import Change, Key, Object, pack
from berth.nodecache.feed.head import Observation, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, Deposed, LogItem, LogWrite

LIFETIME_SECONDS = 24 * 3600.0
"""After that the table may drop a log item or a chunk. What is still needed is compacted at a quarter of it."""

LEAST_LOG_BYTES = 256 * 1024
"""Below this a log is not worth a snapshot, however small the cluster."""


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


@dataclass(slots=True)
class _Batch:
    """A log item that an attempt was made to write. Its bytes are settled (see the module's guarantees)."""

    item: LogItem
    nonce: str
    written: bool = False


class Writer:
    """One per leadership; for one thread. Every method may raise NotLeading, TableUnavailable and Deposed."""

    def __init__(
        self,
        table: CacheTable,
        leadership: Leadership,
        pointer: Pointer | None,
        epoch: int,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        """`pointer`: what the predecessor published. `epoch`: this leadership's leaseTransitions."""
        self.pointer = pointer
        self.oversized: list[str] = []
        self._table = table
        self._leadership = leadership
        self._epoch = epoch
        self._clock = clock
        self._new_id = new_id
        self._pending: list[Change] = []
        self._batches: list[_Batch] = []
        self._in_doubt: tuple[Pointer, str] | None = None

    def flush(self, changes: Iterable[Change], observation: Observation) -> None:
        """Publish these changes, those that an earlier flush could not, and what was observed.

        Without changes it is the heartbeat. The caller hands every change over once, whatever came of the flush.
        """
        self._pending.extend(changes)
        self._settle()
        self._cut()
        for batch in self._batches:
            self._put(batch)
        following = self._following(observation)
        log_bytes = following.log_bytes + sum(len(batch.item.data) for batch in self._batches)
        self._publish(replace(following, version=following.version + len(self._batches), log_bytes=log_bytes))

    def replace(self, objects: Mapping[Key, Object], observation: Observation) -> None:
        """The first publication of a leadership that cannot go on from what is published: a snapshot and no log.

        Every reader has to load it (`compacted_version`), so no orphan in the log is taken for the way there.
        """
        self._settle()
        following = self._following(observation)
        following = replace(following, version=following.version + 1)
        self._publish(self._with_snapshot(objects, following, compacted_version=following.version))

    def compact_if_due(self, objects: Mapping[Key, Object], observation: Observation) -> bool:
        """Write a snapshot when the log has outgrown the last one, or that one has grown old. True when it did.

        `objects` is the published state: call it after a flush that published all, and before the next change.
        """
        pointer = self.pointer
        if pointer is None or self._in_doubt or self._batches or not self._compaction_is_due(pointer):
            return False
        # Readers that have come to the last snapshot go on with the log: it is still there for a grace period.
        compacted_version = pointer.snapshot.version if pointer.snapshot else 0
        self._publish(self._with_snapshot(objects, self._following(observation), compacted_version))
        return True

    def _compaction_is_due(self, pointer: Pointer) -> bool:
        if pointer.snapshot is None:
            return pointer.version > 0
        outgrown = pointer.log_bytes > max(pointer.snapshot.size, LEAST_LOG_BYTES)
        return outgrown or self._clock.wall() - pointer.snapshot.written_at > LIFETIME_SECONDS / 4

    def _settle(self) -> None:
        """Repeat a publication whose answer was lost, before anything else is published."""
        if self._in_doubt is not None:
            self._publish(*self._in_doubt)

    def _cut(self) -> None:
        """Pending changes become log items, with the versions after those of the batches that wait already."""
        packed = pack(self._pending)
        self.oversized += packed.oversized
        version = (self.pointer.version if self.pointer else 0) + len(self._batches)
        for offset, data in enumerate(packed.items, start=1):
            self._batches.append(_Batch(LogItem(version + offset, self._epoch, data), self._new_id()))
        self._pending = []

    def _put(self, batch: _Batch) -> None:
        if batch.written:
            return
        if self._table.put_log(batch.item, batch.nonce, self._clock.wall() + LIFETIME_SECONDS) is LogWrite.OUTRANKED:
            raise Deposed(f"a later epoch has written version {batch.item.version}")
        batch.written = True

    def _with_snapshot(self, objects: Mapping[Key, Object], pointer: Pointer, compacted_version: int) -> Pointer:
        packed = pack(Change(resource, key, kept) for (resource, key), kept in objects.items())
        now = self._clock.wall()
        snapshot = SnapshotPointer(
            id=self._new_id(),
            version=pointer.version,
            chunks=len(packed.items),
            size=sum(map(len, packed.items)),
            written_at=now,
        )
        self._table.put_chunks(snapshot.id, packed.items, now + LIFETIME_SECONDS)
        return replace(pointer, snapshot=snapshot, compacted_version=compacted_version, log_bytes=0)

    def _following(self, observation: Observation) -> Pointer:
        """The pointer as it is, with this writer's signs of life."""
        now = self._clock.wall()
        if self.pointer is None:
            return Pointer(0, None, 0, 0, observation, now, __version__)
        return replace(self.pointer, observation=observation, heartbeat=now, writer_version=__version__)

    def _publish(self, pointer: Pointer, nonce: str = "") -> None:
        fence = self._leadership.fence()
        if fence is None:
            raise NotLeading
        nonce = nonce or self._new_id()
        self._in_doubt = (pointer, nonce)
        sent = self._clock.now()
        try:
            self._table.publish(pointer, fence, sent.wall, nonce)
        except Deposed:
            self._leadership.refused(fence)
            raise
        self._leadership.renewed(fence, sent)
        self._in_doubt = None
        self.pointer = pointer
        self._batches = []
