"""The port to the cache table: a head, a log for each part of the state, and immutable snapshots in chunks.

Every method may raise TableUnavailable, after which a write may or may not have happened.
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
    """Packed changes of one part of the state that lead from `previous` to `version`, as the leader of `epoch` wrote
    them.

    `previous`: the newest published version of that part before this one (see reader).
    """

    part: SnapshotPart
    version: int
    epoch: int
    previous: PublishedVersion
    data: bytes

    @property
    def published(self) -> PublishedVersion:
        """The version and epoch that identify the item once it is published."""
        return PublishedVersion(self.version, self.epoch)


class LogWrite(StrEnum):
    """The result of writing a log item. STALE_EPOCH: one of this part and version is there, of this epoch or a later
    one, and stays."""

    WRITTEN = "written"
    STALE_EPOCH = "stale-epoch"


class StaleFence(Exception):
    """The head is not held under this fence any more: another leads, or the item is new. Nothing was published."""


class CacheTable(ABC):
    """The operations of the readers and of the one writer.

    Each part has a log; its items are there by their versions. The logs belong to one head item: `uid` is part of their
    keys. A new head item begins with epoch and version 0 again, and log items of the old one must not be read for it.
    """

    @abstractmethod
    def head(self) -> Head | None:
        """Return the current head (a consistent read, one unit); None if the item does not exist.

        Raises TableUnavailable if it is malformed.
        """

    @abstractmethod
    def head_eventually(self) -> Head | None:
        """Return the head, eventually consistent, for half a read unit. It may be older than the last read."""

    def configuration_hash(self) -> str:
        """Return the hash of the applied configuration from the head (a consistent read); empty before the first."""
        head = self.head()
        return "" if head is None else head.configuration_hash

    @abstractmethod
    def put_counting_refusal(self, reason: str) -> None:
        """Store in the head why this store does not count; empty: it counts. Does nothing if there is no head.

        Like the configuration's hash, it is not in lease or pointer, so it needs no fence. Raises TableUnavailable.
        """

    @abstractmethod
    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        """Return the log items of these parts with after < version <= through[part], each part's ascending, as of now.

        One consistent query for each part, with all its pages. Versions may be missing, and an item may be an orphan:
        the caller follows the chain of each part back from the head. A malformed item is left out, as if it were
        missing.
        """

    @abstractmethod
    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        """Return the snapshot's chunks of these parts in order, read in parallel and eventually consistent.

        A chunk that is not visible yet is None. A malformed one is empty; no writer writes an empty chunk.
        """

    @abstractmethod
    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        """Write the item if there is none yet, or one of an earlier epoch.

        `nonce` belongs to these bytes: if an item with it stands there already, an earlier attempt has succeeded.
        """

    @abstractmethod
    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        """Store the chunks of a new snapshot; all are stored when this returns.

        A table that throttles gets them more slowly. `wait`: waits for so many seconds. What it raises ends the
        writing.
        """

    @abstractmethod
    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        """Replace the pointer and renew the lease, if the head is still as the fence saw it.

        One conditional write: it is what makes a deposed leader harmless. `nonce` belongs to this publication: where
        the head bears it, an earlier attempt has succeeded. Raises StaleFence.
        """
