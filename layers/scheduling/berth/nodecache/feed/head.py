"""The head item: verbs read it in their calls, and a publication is one conditional write of it.

It contains the lease of the leader (see lease/) and the pointer to the published version. Log items and snapshots
become visible only through the pointer. The head must stay below 2 KB: each publication costs one write unit per KB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from berth.scheduling.snapshot.parts import Parts, SnapshotPart


@dataclass(frozen=True, slots=True)
class Position:
    """A position from which a watch can be resumed. Times are seconds since the epoch. `observed_at`: the watcher knows
    all events until this time. `listed_at`: the time of the last list."""

    resource_version: str
    observed_at: float
    listed_at: float


SCHEMA_VERSION = 1
"""The version of the schema of head, log and snapshots. Every change of the schema increases it, so that readers know
whether the current writer or an earlier one wrote an attribute of the head."""

OLDEST_READER = 1
"""The oldest schema whose readers can read the items of this release; they may ignore unknown attributes. Increase it
only if older readers would misread the items, one release after the first that can read the new schema."""

FUTURE_SCHEMA = (
    "the node cache was written by a newer release, in a form that this one does not read; "
    "deploy that release again, or wait for the watcher of this one to publish anew"
)


class PublishedVersion(NamedTuple):
    """A published version, and the epoch of the leader that packed it. While the head item exists, the pair identifies
    the content."""

    version: int
    epoch: int


BEGINNING = PublishedVersion(0, 0)
"""The position before the first version."""

PartVersions = Mapping[SnapshotPart, PublishedVersion]
"""Maps each part to the newest published version that changed it: the version of a log item of the part, or of a
snapshot that was published in place of log items."""


def in_every_part(published: PublishedVersion) -> PartVersions:
    return dict.fromkeys(SnapshotPart, published)


@dataclass(frozen=True, slots=True)
class SnapshotPointer:
    """An immutable snapshot, which is stored in chunks. `newest`: the version of each part in it, from which the part's
    log continues. `chunks_by_part`: numbers of chunks; chunks are ordered by part. `size`: the bytes of all chunks."""

    id: str
    version: int
    newest: PartVersions
    chunks_by_part: Mapping[SnapshotPart, int]
    size: int
    written_at: float

    def indexes(self, parts: Parts) -> Sequence[int]:
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
    """The state of the API server as the watcher knows it: the cluster, and the position of each resource."""

    cluster_uid: str
    positions: Mapping[str, Position]

    @property
    def observed_at(self) -> float:
        """Return the oldest `observed_at` of all resources, in seconds since the epoch; 0 without a position."""
        return min((position.observed_at for position in self.positions.values()), default=0.0)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Points to the published version.

    `version` increases by one with each log item of any part; `last_epoch` is the epoch of the last item. `newest`: the
    end of each part's log. A reader below `compacted_version` must load the snapshot: log items up to this version may
    be deleted or replaced by orphans. `log_bytes`: the bytes of all log items since the snapshot. `heartbeat`: the time
    of the last publication; it does not show the data's age.
    """

    version: int
    last_epoch: int
    newest: PartVersions
    snapshot: SnapshotPointer | None
    compacted_version: int
    log_bytes: int
    observation: Observation
    heartbeat: float
    writer_version: str
    schema_version: int = SCHEMA_VERSION
    oldest_reader: int = OLDEST_READER

    @property
    def unreadable_reason(self) -> str:
        """Return why this release cannot read the pointer; then only version, epoch and schema are valid. Empty if it
        can."""
        return FUTURE_SCHEMA if self.oldest_reader > SCHEMA_VERSION else ""

    @property
    def published(self) -> PublishedVersion:
        return PublishedVersion(self.version, self.last_epoch)


@dataclass(frozen=True, slots=True)
class Head:
    """The item as of one read. `uid`: different for each new item; empty before the first election. `pointer`: None
    until the first publication. `configuration_hash`: empty until a document was applied. `plugin_version`: the version
    of the custom plugins with which the document was tried; may be empty. `counting_refusal`: the reason why this
    store's ledger does not count resources; empty if it does."""

    uid: str
    pointer: Pointer | None
    configuration_hash: str = ""
    counting_refusal: str = ""
    plugin_version: str = ""

    @property
    def unreadable_reason(self) -> str:
        return "" if self.pointer is None else self.pointer.unreadable_reason
