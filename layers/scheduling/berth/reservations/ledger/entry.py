"""What the ledger holds: entries, open reservations, and the ledger of one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

Shares = Mapping[str, int]
"""By pool, an amount above 0. A pool is a resource, or one device of it (`nvidia.com/gpumem#0`)."""


class EntryState(StrEnum):
    """RESERVED: a bind is under way, or has died. BOUND: the pod was seen on the node. A released entry is gone."""

    RESERVED = "reserved"
    BOUND = "bound"


@dataclass(frozen=True, slots=True)
class PodKey:
    """A pod by its name and by the UID that no other pod will ever have."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A pod's part of a node. attempt: the bind that owns it, never the same twice. since: when it was made, seconds
    since the epoch."""

    pod: PodKey
    state: EntryState
    attempt: str
    shares: Shares
    since: float


@dataclass(frozen=True, slots=True)
class OpenReservation:
    """A bind that the watcher has not confirmed yet. It is written before the entry, so that no entry is without it."""

    pod: PodKey
    node: str
    attempt: str
    shares: Shares
    since: float
    release_requested: bool = False
    """An operator wants it to be looked after now, before it is old enough."""


_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NodeLedger:
    """For every pool: avail - owed + what the entries hold = capacity, avail and owed not below 0, one of them 0.

    owed: what is held beyond the capacity, because that shrank or because somebody else bound pods there; what is
    released pays it first. avail is None while the ledger is rebuilt: nothing can be reserved then. epoch: of the
    watcher that wrote it last.
    """

    node: str
    capacity: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    avail: Mapping[str, int] | None = field(default_factory=lambda: _NOTHING)
    owed: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    entries: Mapping[str, Entry] = field(default_factory=dict)
    epoch: int = 0

    def held(self, pool: str) -> int:
        """What the entries hold of a pool."""
        return sum(entry.shares.get(pool, 0) for entry in self.entries.values())
