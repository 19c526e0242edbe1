"""The head item: the one item a verb reads on every call, and the one conditional write that publishes.

It says which snapshot is current, how old the data is, and who wrote it. Everything else of the cache becomes visible
only through it.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_VERSION = 1
"""Raised when a reader of the previous release could not read what this one writes."""


@dataclass(frozen=True, slots=True)
class SnapshotPointer:
    """An immutable snapshot: its id, and the number of chunks it was cut into."""

    id: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Head:
    """Times are seconds since the epoch.

    `version` grows by one with every change that is published. `observed_at` says how old the *data* is: when the last
    list was answered. `heartbeat` says only that a watcher lives. `snapshot_at`: when the snapshot was written.
    """

    version: int
    snapshot: SnapshotPointer
    snapshot_at: float
    observed_at: float
    heartbeat: float
    resource_version: str
    writer_version: str
    schema_version: int = SCHEMA_VERSION
