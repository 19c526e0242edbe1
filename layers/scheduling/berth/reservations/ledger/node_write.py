"""What a change of a node's ledger does to its pools, and what must still hold when it is written.

`avail` and `owed` are never both above 0. Where that is plain from the delta already, the condition is an inequality,
so that writes of others do not get in the way; where the sum passes through 0, it names the value that was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, Shares


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


def reserving(held: Shares, wanted: Shares) -> dict[str, PoolChange]:
    """A pod that holds something is to hold at least `wanted`: only what is there can be had, and nothing is given."""
    short = {pool: amount - held.get(pool, 0) for pool, amount in wanted.items()}
    return {pool: PoolChange(avail=-amount, least_avail=amount) for pool, amount in short.items() if amount > 0}


def settling(ledger: NodeLedger, held: Shares, wanted: Shares) -> dict[str, PoolChange]:
    """A pod's part is to be `wanted`, as it is in the cluster: what is not there is owed, what is given pays first."""
    changes = {pool: wanted.get(pool, 0) - held.get(pool, 0) for pool in {**held, **wanted}}
    return {pool: _moved(ledger, pool, -amount) for pool, amount in changes.items() if amount}


def resizing(ledger: NodeLedger, capacity: Mapping[str, int]) -> dict[str, PoolChange]:
    """The node's capacity is to be this. The condition on the old one makes it safe to repeat."""
    pools = {pool: ledger.capacity.get(pool, 0) for pool in {**ledger.capacity, **capacity}}
    changes = {}
    for pool, before in pools.items():
        grown = capacity.get(pool, 0) - before
        if grown:
            moved = _moved(ledger, pool, grown)
            changes[pool] = PoolChange(
                moved.avail, moved.owed, grown, moved.least_avail, moved.avail_is, moved.owed_is, capacity_is=before
            )
    return changes


def _moved(ledger: NodeLedger, pool: str, amount: int) -> PoolChange:
    """So much more is free, or less."""
    avail, owed = (ledger.avail or {}).get(pool, 0), ledger.owed.get(pool, 0)
    if amount > 0:
        paid = min(amount, owed)
        return PoolChange(avail=amount - paid, owed=-paid, owed_is=owed)
    if avail >= -amount:
        return PoolChange(avail=amount, least_avail=-amount)
    return PoolChange(avail=-avail, owed=-amount - avail, avail_is=avail)
