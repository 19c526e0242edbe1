"""Which devices of a node a pod gets, by the node's ledger. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from berth.ledger.nodes.entry import NodeLedger, Shares
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.device_annotation import device_of

ANY_AFTER = 2
"""After so many lost races, any device with enough room is chosen."""


class DeviceChoice:
    """What one pod will hold of a node, by pool. Deterministic: the same input gives the same choice."""

    def __init__(self, counting: Counting, demands: Sequence[Demand], pod_uid: str) -> None:
        self._counting = counting
        self._demands = demands
        self._uid = pod_uid

    def without_devices(self) -> Shares | None:
        """The shares if no device has to be chosen. Then the node's ledger is not needed. None: read the ledger."""
        asked = {demand.resource: demand.amount for demand in self._demands}
        chosen = self._counting.choose(self._demands, {}, asked)
        return None if isinstance(chosen, Insufficient) else chosen

    def on(self, ledger: NodeLedger, lost_races: int) -> Shares | Insufficient:
        """The choice for this state of the node's ledger."""
        chosen = self._chosen(ledger)
        if isinstance(chosen, Insufficient) or self._uid in ledger.entries:
            return chosen
        return self._spread(chosen, ledger, lost_races)

    def _chosen(self, ledger: NodeLedger) -> Shares | Insufficient:
        """What the pod already holds counts as available for it, and is kept if it is enough."""
        avail, entry = ledger.avail or {}, ledger.entries.get(self._uid)
        if entry is None:
            return self._counting.choose(self._demands, ledger.capacity, avail)
        held = self._counting.choose(self._demands, ledger.capacity, entry.shares)
        if not isinstance(held, Insufficient):
            return held
        own = {pool: avail.get(pool, 0) + entry.shares.get(pool, 0) for pool in {**avail, **entry.shares}}
        return self._counting.choose(self._demands, ledger.capacity, own)

    def _spread(self, shares: Shares, ledger: NodeLedger, lost_races: int) -> Shares:
        """Choose among equally good devices by a hash, so that concurrent binds do not all choose the same one.

        Equally good: of the same size, with as much room. After ANY_AFTER lost races: of the same size, with enough.
        """
        found: dict[str, int] = {}
        for pool, amount in shares.items():
            equal = _equal_devices(pool, amount, ledger, any_room=lost_races >= ANY_AFTER)
            chosen = equal[crc32(f"{self._uid} {lost_races}".encode()) % len(equal)] if equal else pool
            found[chosen] = amount
        return found


def _equal_devices(pool: str, amount: int, ledger: NodeLedger, *, any_room: bool) -> list[str]:
    """The devices of this pool's size with as much room. any_room: with enough room. Empty if the pool is no device."""
    device, avail = device_of(pool), ledger.avail or {}
    if device is None:
        return []
    return sorted(
        each
        for each, size in ledger.capacity.items()
        if (other := device_of(each)) is not None
        and other[0] == device[0]
        and size == ledger.capacity[pool]
        and (avail.get(each, 0) >= amount if any_room else avail.get(each, 0) == avail.get(pool, 0))
    )
