"""The entries, the open reservations, and the ledger of one owner. An owner is a node or a floating pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from berth.scheduling.managed_resources.pools import Shares, by_owner
from berth.scheduling.objects.pod import PodKey


class EntryState(StrEnum):
    """The state of an entry. RESERVED: a bind wrote it, and the watcher has not seen the pod on the node yet. BOUND:
    the watcher has seen the pod on the node. A released entry is deleted."""

    RESERVED = "reserved"
    BOUND = "bound"


@dataclass(frozen=True, slots=True)
class Entry:
    """One pod's share in the ledger of one owner. attempt: the unique id of the bind that owns the entry; empty if the
    watcher made the entry for a pod on a node. since: when the entry was made, in seconds since the epoch."""

    pod: PodKey
    state: EntryState
    attempt: str
    shares: Shares
    since: float

    def is_unchanged(self, seen: Entry) -> bool:
        """Return whether attempt and state are still those that were seen; then the shares have not changed either."""
        return (self.attempt, self.state) == (seen.attempt, seen.state)

    def open_on(self, node: str) -> OpenReservation:
        """Return the open reservation of the entry's attempt."""
        return OpenReservation(self.pod, node, self.attempt, self.shares, self.since)


@dataclass(frozen=True, slots=True)
class OpenReservation:
    """A bind that the watcher has not confirmed yet.

    It is written before its entries, or in their transaction, and deleted after they are confirmed or released. So the
    watcher finds every reserved entry through an open reservation. shares: the pod's shares of all owners.
    """

    pod: PodKey
    node: str
    attempt: str
    shares: Shares
    since: float

    @property
    def owners(self) -> frozenset[str]:
        """Return the owners whose ledgers count the shares: the node, floating pools, or both."""
        return frozenset(by_owner(self.shares, self.node))


@dataclass(frozen=True, slots=True)
class NodeLedger:
    """The ledger of one owner. For every pool: avail - owed + allocated = capacity.

    owner: the name of a node or of a floating pool; a floating pool is the only pool of its ledger.

    avail: the amounts that can still be reserved, by pool. owed: the amounts by which the entries exceed the capacity,
    by pool, because the capacity shrank or because another scheduler bound pods there. Later releases reduce `owed`
    first. Neither is below 0, and at least one of them is 0.

    avail is None while the ledger is being rebuilt: then nothing can be reserved. epoch: the fencing epoch of the
    watcher that wrote the item last.
    """

    owner: str
    capacity: Mapping[str, int] = field(default_factory=dict)
    avail: Mapping[str, int] | None = field(default_factory=dict)
    owed: Mapping[str, int] = field(default_factory=dict)
    entries: Mapping[str, Entry] = field(default_factory=dict)
    epoch: int = 0

    def allocated(self, pool: str) -> int:
        return sum(entry.shares.get(pool, 0) for entry in self.entries.values())
