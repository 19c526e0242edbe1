"""The head item: the one item a verb reads on every call, and the one conditional write that publishes.

It is the lease (who may publish: see lease/) and the pointer (what is published). Everything else in the table becomes
visible only through it. A verb reads one unit for it, so it must stay below 2 KB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from berth.nodecache.feed.cluster import Position
from berth.scheduling.snapshot.parts import Parts, SnapshotPart

SCHEMA_VERSION = 2
"""The schema of head, log and snapshots that this release writes. Every change of the schema raises it, so that readers
know whether the current writer or an earlier one wrote an attribute of the head.

2: an item holds one part of the state. A log item names its part, and the head counts the chunks of each part."""

OLDEST_READER = 1
"""The oldest schema whose readers can read what this release writes; they may ignore what they do not know. It is
raised only where they would misread it, one release after the first one that can read the new schema."""

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
    """An immutable snapshot: the version whose state it holds and that one's epoch, and the chunks it was cut into.

    `size`: bytes of all chunks. `chunks_by_part`: how many chunks each part has, in the order of the chunks; None where
    a release wrote the snapshot that did not divide it, or that divides it in another way.
    """

    id: str
    version: int
    epoch: int
    chunks: int
    size: int
    written_at: float
    chunks_by_part: Mapping[SnapshotPart, int] | None = None

    @property
    def published(self) -> PublishedVersion:
        """The version whose state it holds."""
        return PublishedVersion(self.version, self.epoch)

    def indexes(self, parts: Parts) -> Sequence[int]:
        """The chunks that hold these parts; all chunks where the parts are not known."""
        if self.chunks_by_part is None:
            return range(self.chunks)
        indexes: list[int] = []
        first = 0
        for part in SnapshotPart:
            following = first + self.chunks_by_part.get(part, 0)
            if part in parts:
                indexes += range(first, following)
            first = following
        return indexes


@dataclass(frozen=True, slots=True)
class Observation:
    """The watcher's view of the API server: the cluster, and the position of each resource."""

    cluster_uid: str
    positions: Mapping[str, Position]

    @property
    def observed_at(self) -> float:
        """The `observed_at` of the oldest resource, in seconds since the epoch; 0 without any position."""
        return min((position.observed_at for position in self.positions.values()), default=0.0)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The published version, and how to read it.

    `version` grows by one with each log item; `last_epoch` is the epoch of that item (see reader). A reader whose
    cursor is below `compacted_version` must load the snapshot: log items up to there may be gone, with old orphans in
    their place. `log_bytes`: written since the snapshot. `heartbeat`: when the watcher last published; it says nothing
    about the data.
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
        """Whether this release can read it. If not, only version, epoch and schema are valid."""
        return self.oldest_reader <= SCHEMA_VERSION

    @property
    def published(self) -> PublishedVersion:
        """The latest version."""
        return PublishedVersion(self.version, self.last_epoch)


@dataclass(frozen=True, slots=True)
class Head:
    """The item as of one read. `uid` identifies the item: a new item has another uid.

    Without a uid there is no pointer. `pointer` is None from the first lease to the first publication.
    `configuration_hash` is empty until a document was applied. `plugin_version`: of the custom plugins that it was
    tried with; empty: it has none, or they are unknown. `counting_refusal`: why this store's ledger does not
    count; empty: it counts, or it is unknown.
    """

    uid: str
    pointer: Pointer | None
    configuration_hash: str = ""
    counting_refusal: str = ""
    plugin_version: str = ""

    @property
    def is_readable(self) -> bool:
        """False: a newer release has published in a form that this one does not read."""
        return self.pointer is None or self.pointer.is_readable
