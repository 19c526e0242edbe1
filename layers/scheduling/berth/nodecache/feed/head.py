"""The head item: the one item a verb reads on every call, and the one conditional write that publishes.

It is the lease (who may publish: see lease/) and the pointer (what is published). Everything else in the table becomes
visible only through it. A verb reads one unit for it, so it must stay below 2 KB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from berth.nodecache.feed.cluster import Position

SCHEMA_VERSION = 1
"""Of what this release writes: the head, the log, the snapshots, and what is in them. Raised by every change of it, so
that readers know whether an attribute is this writer's, or was left on the head by an earlier one."""

OLDEST_READER = 1
"""The oldest schema whose readers understand what this release writes: what they do not know they need not know.
Raised where they would misread it, and not before the release after the one that has learned to read it."""

FUTURE_SCHEMA = (
    "the node cache was written by a newer release, in a form that this one does not read; "
    "deploy that release again, or wait for the watcher of this one to publish anew"
)


class PublishedVersion(NamedTuple):
    """A published version, and the epoch of the leader that packed it: within one head item they name one content.

    Before the first version there is version 0 of epoch 0.
    """

    version: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SnapshotPointer:
    """An immutable snapshot: the version whose state it holds and that one's epoch, and the chunks it was cut into."""

    id: str
    version: int
    epoch: int
    chunks: int
    size: int
    """Bytes of all chunks."""
    written_at: float

    @property
    def published(self) -> PublishedVersion:
        """What it holds the state of."""
        return PublishedVersion(self.version, self.epoch)


@dataclass(frozen=True, slots=True)
class Observation:
    """What the watcher has seen of the API server: of which cluster, and how far it has come with each resource."""

    cluster_uid: str
    positions: Mapping[str, Position]

    @property
    def observed_at(self) -> float:
        """How old the data is: of all resources the oldest. Seconds since the epoch, 0 when nothing was seen."""
        return min((position.observed_at for position in self.positions.values()), default=0.0)


@dataclass(frozen=True, slots=True)
class Pointer:
    """What is published.

    `version` grows by one with each log item; `last_epoch` is the epoch in which it was packed (see chain). A reader
    whose cursor is below `compacted_version` must load the snapshot: log items up to there may be gone, and an old
    orphan may stand where one was. `log_bytes`: written since the snapshot. `heartbeat` says that a watcher lives, and
    nothing of the data.
    """

    version: int
    last_epoch: int
    snapshot: SnapshotPointer | None
    compacted_version: int
    log_bytes: int
    observation: Observation
    heartbeat: float
    writer_version: str
    schema_version: int = SCHEMA_VERSION
    oldest_reader: int = OLDEST_READER

    @property
    def is_readable(self) -> bool:
        """Else only version, epoch and schema mean anything here: those are the same in every release."""
        return self.oldest_reader <= SCHEMA_VERSION

    @property
    def published(self) -> PublishedVersion:
        """The latest version."""
        return PublishedVersion(self.version, self.last_epoch)


@dataclass(frozen=True, slots=True)
class Head:
    """The item as one read found it. `uid` identifies the item: one that was made anew has another.

    Without a uid there is no pointer. `pointer` is None from the first lease to the first publication.
    `configuration_hash` is empty until a document was applied.
    """

    uid: str
    pointer: Pointer | None
    configuration_hash: str = ""

    @property
    def is_readable(self) -> bool:
        """False: a newer release has published in a form that this one does not read."""
        return self.pointer is None or self.pointer.is_readable
