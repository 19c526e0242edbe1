"""One conditional write on a node's ledger, as a value: what must hold, and what changes if it does.

Every table carries out the same value in one step. What has no condition commutes with the writes of others: that is
why a busy node needs no version lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from berth.reservations.entry import Entry, EntryState
from berth.reservations.node_ledger import NodeLedger


@dataclass(frozen=True, slots=True)
class PoolChange:
    """By how much a pool changes, and what must hold of it before; a pool that the item does not have counts as 0."""

    avail: int = 0
    owed: int = 0
    capacity: int = 0
    least_avail: int = 0
    avail_is: int | None = None
    owed_is: int | None = None
    capacity_is: int | None = None


@dataclass(frozen=True, slots=True)
class EntryIs:
    """The pod's entry is there, in this state, and owned by this attempt: then its shares are those that were seen."""

    attempt: str
    state: EntryState


@dataclass(frozen=True, slots=True)
class NodeWrite:
    """A write on the item of a node. It also needs the item and its `avail`: never on a ledger that is rebuilt.

    uid: the pod. before: what must hold of its entry; None is no entry, unless `uid` is empty. after: what stands there
    then; None is no entry. epoch: of the watcher that writes; the item must be of no later one, and takes it. None:
    not the watcher.
    """

    uid: str = ""
    before: EntryIs | None = None
    after: Entry | None = None
    pools: Mapping[str, PoolChange] = field(default_factory=dict)
    epoch: int | None = None

    def holds(self, ledger: NodeLedger) -> bool:
        """Whether all that must hold does."""
        if ledger.avail is None or (self.epoch is not None and ledger.epoch > self.epoch):
            return False
        return self._entry_holds(ledger) and all(_holds(ledger, pool, change) for pool, change in self.pools.items())

    def applied(self, ledger: NodeLedger) -> NodeLedger:
        """The ledger afterwards."""
        entries = {uid: entry for uid, entry in ledger.entries.items() if uid != self.uid}
        if self.after is not None:
            entries[self.uid] = self.after
        return replace(
            ledger,
            capacity=_sums(ledger.capacity, {pool: change.capacity for pool, change in self.pools.items()}),
            avail=_sums(ledger.avail or {}, {pool: change.avail for pool, change in self.pools.items()}),
            owed=_sums(ledger.owed, {pool: change.owed for pool, change in self.pools.items()}),
            entries=entries,
            epoch=ledger.epoch if self.epoch is None else self.epoch,
        )

    def _entry_holds(self, ledger: NodeLedger) -> bool:
        if not self.uid:
            return True
        entry = ledger.entries.get(self.uid)
        if self.before is None or entry is None:
            return self.before is None and entry is None
        return entry.attempt == self.before.attempt and entry.state is self.before.state


def _holds(ledger: NodeLedger, pool: str, change: PoolChange) -> bool:
    avail = (ledger.avail or {}).get(pool, 0)
    return (
        avail >= change.least_avail
        and change.avail_is in (None, avail)
        and change.owed_is in (None, ledger.owed.get(pool, 0))
        and change.capacity_is in (None, ledger.capacity.get(pool, 0))
    )


def _sums(amounts: Mapping[str, int], deltas: Mapping[str, int]) -> dict[str, int]:
    # A pool of which nothing is left is as good as absent: tables may keep the zero, and nobody sees it.
    sums = {pool: amounts.get(pool, 0) + deltas.get(pool, 0) for pool in {**amounts, **deltas}}
    return {pool: amount for pool, amount in sums.items() if amount}
