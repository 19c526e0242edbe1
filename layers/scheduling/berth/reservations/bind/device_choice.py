"""Which devices a pod gets, as bind sees the node's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from berth.reservations.ledger.entry import NodeLedger, Shares
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.device_annotation import device_of

ANY_AFTER = 2
"""Races lost before any device with room will do."""


class DeviceChoice:
    """What one pod is to hold of a node, by pool. The same question has the same answer."""

    def __init__(self, counting: Counting, demands: Sequence[Demand], pod_uid: str) -> None:
        self._counting = counting
        self._demands = demands
        self._uid = pod_uid

    def without_devices(self) -> Shares | None:
        """The shares where no device has to be chosen: then nothing of the node need be known to choose."""
        asked = {demand.resource: demand.amount for demand in self._demands}
        chosen = self._counting.choose(self._demands, {}, asked)
        return None if isinstance(chosen, Insufficient) else chosen

    def on(self, ledger: NodeLedger, tried: int) -> Shares | Insufficient:
        """What is chosen by this state of the node's ledger. tried: how many races the pod has lost."""
        chosen = self._chosen(ledger)
        if isinstance(chosen, Insufficient) or self._uid in ledger.entries:
            return chosen
        return self._dispersed(chosen, ledger, tried)

    def _chosen(self, ledger: NodeLedger) -> Shares | Insufficient:
        """What the pod holds already counts as free for it, and is kept if it will do."""
        avail, entry = ledger.avail or {}, ledger.entries.get(self._uid)
        if entry is None:
            return self._counting.choose(self._demands, ledger.capacity, avail)
        held = self._counting.choose(self._demands, ledger.capacity, entry.shares)
        if not isinstance(held, Insufficient):
            return held
        own = {pool: avail.get(pool, 0) + entry.shares.get(pool, 0) for pool in {**avail, **entry.shares}}
        return self._counting.choose(self._demands, ledger.capacity, own)

    def _dispersed(self, shares: Shares, ledger: NodeLedger, tried: int) -> Shares:
        """The same from devices that are as good, so that binds at one moment do not all want the same one. After two
        lost races any device of that size with room is."""
        found: dict[str, int] = {}
        for pool, amount in shares.items():
            alike = _alike(pool, amount, ledger, any_room=tried >= ANY_AFTER)
            chosen = alike[crc32(f"{self._uid} {tried}".encode()) % len(alike)] if alike else pool
            found[chosen] = amount
        return found


def _alike(pool: str, amount: int, ledger: NodeLedger, *, any_room: bool) -> list[str]:
    """The devices of this one's size with as much room, or with any that will do; none where it is no device."""
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
