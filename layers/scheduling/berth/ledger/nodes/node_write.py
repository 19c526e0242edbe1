"""One write on a node's ledger: its changes of the pools and entries, and its conditions.

`avail` and `owed` are never both above 0. If the change cannot break that, the condition is an inequality, so that
concurrent writes do not conflict. If `avail` or `owed` may cross 0, the condition names the expected value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from berth.ledger.nodes.entry import Entry, NodeLedger
from berth.scheduling.managed_resources.pools import Shares


@dataclass(frozen=True, slots=True)
class PoolChange:
    """The change of one pool, and its conditions. A pool that the item does not have counts as 0."""

    avail: int = 0
    owed: int = 0
    capacity: int = 0
    min_avail: int = 0
    expected_avail: int | None = None
    expected_owed: int | None = None
    expected_capacity: int | None = None


@dataclass(frozen=True, slots=True)
class EntryChange:
    """The change of one pod's entry. before: the entry must still have its attempt and state; None: the pod must not
    have an entry. after: the entry after the write; None deletes it."""

    uid: str
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class NodeWrite:
    """A write on a node's item. It also requires that the item exists and is not being rebuilt.

    entries: changes of different pods; several only for the members of a gang. epoch: the watcher's epoch, which
    replaces the item's epoch and must not be earlier; None: a write of bind.
    """

    entries: tuple[EntryChange, ...] = ()
    pools: Mapping[str, PoolChange] = field(default_factory=dict)
    epoch: int | None = None

    def is_met_by(self, ledger: NodeLedger) -> bool:
        if ledger.avail is None or (self.epoch is not None and ledger.epoch > self.epoch):
            return False
        return all(_is_entry_met(ledger, change) for change in self.entries) and all(
            _is_met(ledger, pool, change) for pool, change in self.pools.items()
        )

    def applied_to(self, ledger: NodeLedger) -> NodeLedger:
        changed = {change.uid: change.after for change in self.entries}
        entries = {uid: entry for uid, entry in ledger.entries.items() if uid not in changed}
        entries |= {uid: entry for uid, entry in changed.items() if entry is not None}
        return replace(
            ledger,
            capacity=_sums(ledger.capacity, {pool: change.capacity for pool, change in self.pools.items()}),
            avail=_sums(ledger.avail or {}, {pool: change.avail for pool, change in self.pools.items()}),
            owed=_sums(ledger.owed, {pool: change.owed for pool, change in self.pools.items()}),
            entries=entries,
            epoch=ledger.epoch if self.epoch is None else self.epoch,
        )


def _is_entry_met(ledger: NodeLedger, change: EntryChange) -> bool:
    entry = ledger.entries.get(change.uid)
    if change.before is None or entry is None:
        return change.before is None and entry is None
    return entry.is_unchanged(change.before)


def _is_met(ledger: NodeLedger, pool: str, change: PoolChange) -> bool:
    avail = (ledger.avail or {}).get(pool, 0)
    return (
        avail >= change.min_avail
        and change.expected_avail in (None, avail)
        and change.expected_owed in (None, ledger.owed.get(pool, 0))
        and change.expected_capacity in (None, ledger.capacity.get(pool, 0))
    )


def _sums(amounts: Mapping[str, int], deltas: Mapping[str, int]) -> dict[str, int]:
    # A pool with 0 equals an absent pool. DynamoDB may keep the zero; readers drop it.
    sums = {pool: amounts.get(pool, 0) + deltas.get(pool, 0) for pool in {**amounts, **deltas}}
    return {pool: amount for pool, amount in sums.items() if amount}


def reserve_changes(held: Shares, wanted: Shares) -> dict[str, PoolChange]:
    """Return the changes that raise a pod's shares to at least `wanted` from the available amounts."""
    missing = {pool: amount - held.get(pool, 0) for pool, amount in wanted.items()}
    return {pool: PoolChange(avail=-amount, min_avail=amount) for pool, amount in missing.items() if amount > 0}


def replace_changes(ledger: NodeLedger, held: Shares, wanted: Shares) -> dict[str, PoolChange]:
    """Return the changes that set a pod's shares to `wanted`. Amounts that are not available become owed."""
    changes = {pool: wanted.get(pool, 0) - held.get(pool, 0) for pool in {**held, **wanted}}
    return {pool: _available_change(ledger, pool, -amount) for pool, amount in changes.items() if amount}


def capacity_changes(ledger: NodeLedger, capacity: Mapping[str, int]) -> dict[str, PoolChange]:
    """Return the changes that set the node's capacity. Their condition on the old capacity makes a repetition safe."""
    pools = {pool: ledger.capacity.get(pool, 0) for pool in {**ledger.capacity, **capacity}}
    changes = {}
    for pool, before in pools.items():
        delta = capacity.get(pool, 0) - before
        if delta:
            moved = _available_change(ledger, pool, delta)
            changes[pool] = replace(moved, capacity=delta, expected_capacity=before)
    return changes


def _available_change(ledger: NodeLedger, pool: str, amount: int) -> PoolChange:
    """Return the change of `avail` by the amount. An increase reduces `owed` first; a shortage becomes owed."""
    avail, owed = (ledger.avail or {}).get(pool, 0), ledger.owed.get(pool, 0)
    if amount > 0:
        paid = min(amount, owed)
        return PoolChange(avail=amount - paid, owed=-paid, expected_owed=owed)
    if avail >= -amount:
        return PoolChange(avail=amount, min_avail=-amount)
    return PoolChange(avail=-avail, owed=-amount - avail, expected_avail=avail)
