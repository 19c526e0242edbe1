"""The actual items of the table: writes are observed, TTL deletes items, and tests overwrite or delete them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from berth.lease.lock import Fence
from berth.nodecache.feed.head import Head, Pointer
from berth.nodecache.feed.table import LogItem, LogWrite
from berth.scheduling.snapshot.parts import SnapshotPart
from berth_cli.server.store.cache_table import InMemoryCacheTable, TrimmedCacheTable
from berth_cli.server.store.lease_lock import Condition, InMemoryItem, Item
from tests.simulation.world import EPOCH, World

GARBAGE = b"not what a writer wrote"


class Witness(ABC):
    """Called for every write when it is carried out."""

    @abstractmethod
    def head_written(self) -> None:
        """Called when the head item was changed or deleted."""

    @abstractmethod
    def published(self, before: Head, fence: Fence) -> None:
        """Called when a publication was carried out. before: the previous head."""

    @abstractmethod
    def log_written(self, uid: str, before: LogItem | None, item: LogItem, outcome: LogWrite) -> None:
        """Called after an attempt to write a log item. before: the item that had its key."""


class RecordedItem(InMemoryItem):
    witness: Witness

    def update(self, condition: Condition, put: Item, remove: Collection[str] = ()) -> None:
        super().update(condition, put, remove)
        self.witness.head_written()

    def delete(self) -> None:
        super().delete()
        self.witness.head_written()


class RecordedTable(InMemoryCacheTable):
    """All items except the head. TTL deletes each expired item separately, at any time within another lifetime."""

    def __init__(self, world: World, item: InMemoryItem, witness: Witness, lifetime: float) -> None:
        super().__init__(item)
        self._world = world
        self._witness = witness
        self._lifetime = lifetime
        self.cleaned: Callable[[str, int], None] = lambda uid, version: None
        self.is_first: Callable[[str, int], bool] = lambda uid, version: False

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        before = self.head()
        super().publish(pointer, fence, renew_time, nonce)
        assert before is not None
        self._witness.published(before, fence)

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        before = self.log_item(uid, item.part, item.version)
        outcome = super().put_log(uid, item, nonce, expires_at)
        if self.log_item(uid, item.part, item.version) is item:
            latest = 0.0 if self.is_first(uid, item.version) else self._lifetime
            self._world.after(self._cleaned_in(expires_at, latest), lambda: self._clean_log(uid, item))
        self._witness.log_written(uid, before, item, outcome)
        return outcome

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        self.put_some_chunks(snapshot_id, chunks, range(len(chunks)), expires_at)

    def put_some_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], which: Iterable[int], expires_at: float
    ) -> None:
        """Put the chunks with these indexes: only some chunks if a write failed."""
        for index in which:
            key = snapshot_id, index
            self._chunks[key] = chunks[index]
            self._world.after(self._cleaned_in(expires_at, self._lifetime), partial(self._chunks.pop, key, None))

    def log_item(self, uid: str, part: SnapshotPart, version: int) -> LogItem | None:
        return next(iter(self.log(uid, version - 1, {part: version})), None)

    def spoil(self, random: Random) -> None:
        """Overwrite an item of a current or former publication with malformed data, or delete it."""
        head = self.head()
        if head is None or head.pointer is None:
            return
        gone = random.random() < 0.3
        logs = [key for key in self._log if key[0] == head.uid and key[2] <= head.pointer.version]
        chunks = [key for key in self._chunks if head.pointer.snapshot and key[0] == head.pointer.snapshot.id]
        if chunks and (not logs or random.random() < 0.3):
            chunk = random.choice(chunks)
            if gone:
                del self._chunks[chunk]
            else:
                self._chunks[chunk] = GARBAGE
        elif logs:
            key = random.choice(logs[-5:])
            item, nonce = self._log[key]
            if gone:
                del self._log[key]
            else:
                self._log[key] = (replace(item, data=GARBAGE), nonce)

    def _cleaned_in(self, expires_at: float, latest: float) -> float:
        left = expires_at - EPOCH - self._world.now
        return max(0.0, left) + self._world.random.uniform(0.0, latest)

    def _clean_log(self, uid: str, item: LogItem) -> None:
        if self.log_item(uid, item.part, item.version) is item:
            self._log = {key: found for key, found in self._log.items() if found[0] is not item}
            self.cleaned(uid, item.version)


class RecordedTrimmedTable(RecordedTable, TrimmedCacheTable):
    """Deletes unneeded items when the head points to another snapshot, as the store of `berth serve` does."""
