"""The port to the cache table: a head item and immutable chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from berth.nodecache.head import Head, SnapshotPointer


class TableUnavailable(Exception):
    """The table did not do what was asked. The message names cause and remedy; the store's own error is the cause."""


class CacheTable(ABC):
    """Every method may raise TableUnavailable."""

    @abstractmethod
    def head(self) -> Head | None:
        """The head as of now (a consistent read, one read unit); None before anything was published."""

    @abstractmethod
    def publish(self, head: Head, expected_version: int | None) -> bool:
        """Replace the head if its version is still `expected_version` (None: if there is none).

        False when another watcher was faster; then nothing was written. One conditional write.
        """

    @abstractmethod
    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        """Store the chunks of a new snapshot; all are stored when this returns. `expires_at`: when they may go."""

    @abstractmethod
    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        """The snapshot's chunks in order, read in parallel and eventually consistent: one not seen yet is None."""
