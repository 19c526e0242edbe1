"""What a change of a node's ledger does to its pools, and what must still hold when it is written.

`avail` and `owed` are never both above 0. Where that is plain from the delta already, the condition is an inequality,
so that writes of others do not get in the way; where the sum passes through 0, it names the value that was seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from berth.reservations.entry import Shares
from berth.reservations.node_ledger import NodeLedger
from berth.reservations.node_write import PoolChange


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
