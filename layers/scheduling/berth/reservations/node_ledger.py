"""The ledger of one node: one item, changed by one conditional write at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from berth.reservations.entry import Entry

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
