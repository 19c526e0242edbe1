"""The port to the cache table: a head, a log for each part of the state, and immutable snapshots in chunks.

Every method may raise TableUnavailable. Then a write may or may not have happened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from berth.dynamodb import TableUnavailable
from berth.nodecache.feed.head import Head, Pointer, PublishedVersion, SnapshotPointer
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart

if TYPE_CHECKING:
    from berth.lease.lock import Fence

__all__ = ["CacheTable", "LogItem", "LogWrite", "StaleFence", "TableUnavailable"]


@dataclass(frozen=True, slots=True)
class LogItem:
    """Packed changes of one part of the state by the leader of `epoch`. `previous`: the part's newest published version
    before this item (see reader)."""

    part: SnapshotPart
    version: int
    epoch: int
    previous: PublishedVersion
    data: bytes

    @property
    def published(self) -> PublishedVersion:
        return PublishedVersion(self.version, self.epoch)


class LogWrite(StrEnum):
    """The result of writing a log item. STALE_EPOCH: the table already has an item of this part and version, of this
    epoch or a later one."""

    WRITTEN = "written"
    STALE_EPOCH = "stale-epoch"


class StaleFence(Exception):
    """The fence is no longer valid: there is another leader, or a new head item. The pointer was not published."""


class CacheTable(ABC):
    """The table. Each part has a log, whose items are stored by version. The logs belong to one head item: its `uid` is
    part of their keys. A new head item begins with epoch and version 0 again, and must not be combined with old log
    items."""

    @abstractmethod
    def head(self) -> Head | None:
        """Return the current head with a consistent read (one unit); None if the item does not exist. Raises
        TableUnavailable, also if the item is malformed."""

    @abstractmethod
    def head_eventually(self) -> Head | None:
        """Return the head with an eventually consistent read (half a unit). It may be older than a head that was read
        before."""

    def configuration_hash(self) -> str:
        """Return the hash of the applied configuration with a consistent read; empty if no document was applied."""
        head = self.head()
        return "" if head is None else head.configuration_hash

    @abstractmethod
    def put_counting_refusal(self, reason: str) -> None:
        """Store in the head the reason why this store does not count resources; an empty text removes it. Does nothing
        without a head. The write does not need a fence, because the reason is not part of the lease or the pointer."""

    @abstractmethod
    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        """Return the log items of these parts with after < version <= through[part], ascending within each part, by a
        consistent query for each part. Items may be missing or orphans: the caller follows each part's chain back from
        the head. Malformed items are left out."""

    @abstractmethod
    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        """Return the snapshot's chunks of these parts in order, with parallel, eventually consistent reads. A chunk
        that is not visible yet is None; a malformed one is empty."""

    @abstractmethod
    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        """Write the item, unless the table has an item of this version, and of this epoch or a later one. `nonce`
        identifies the bytes: if the stored item has this nonce, an earlier attempt has succeeded."""

    @abstractmethod
    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        """Store all chunks of a new snapshot, more slowly if the table throttles. `wait`: waits for this many seconds;
        its exceptions end the writing."""

    @abstractmethod
    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        """Replace the pointer and renew the lease with one conditional write, if the fence is still valid. Raises
        StaleFence. `nonce` identifies the publication: if the head has the nonce, an earlier attempt has succeeded."""
