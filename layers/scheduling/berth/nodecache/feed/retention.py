"""How long what is published stays in the table, and when a snapshot takes the log's place."""

from __future__ import annotations

from dataclasses import dataclass

from berth.nodecache.feed.head import Pointer


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
