"""The ledgers of a node and of floating pools, and entries for them."""

from __future__ import annotations

from collections.abc import Mapping

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import Ledger, LedgerResult, new_ledger
from berth.scheduling.objects.pod import PodKey

AT = 1_800_000_000.5
NODE = "gpu-1.example.com"
GPU, LICENCE = "nvidia.com/gpumem#0", "example.com/licence"
EMPTY = new_ledger(NODE, {GPU: 8000, LICENCE: 3}, {}, epoch=4)
SEATS, CONNECTIONS = "example.com/seat@cluster", "example.com/conn@topology.kubernetes.io/zone=a"
"""Floating pools."""
EMPTY_SEATS = new_ledger(SEATS, {SEATS: 2}, {}, epoch=4)
EMPTY_CONNECTIONS = new_ledger(CONNECTIONS, {CONNECTIONS: 10}, {}, epoch=4)


def pod(name: str = "train-0") -> PodKey:
    return PodKey("ml", name, f"uid-{name}")


def entry(
    name: str = "train-0",
    attempt: str = "a1",
    shares: Mapping[str, int] | None = None,
    state: EntryState = EntryState.RESERVED,
) -> Entry:
    return Entry(pod(name), state, attempt, {LICENCE: 1} if shares is None else shares, AT)


def open_reservation(name: str = "train-0", attempt: str = "a1", node: str = NODE) -> OpenReservation:
    return OpenReservation(pod(name), node, attempt, {LICENCE: 1, GPU: 3000}, AT)


def reserve(ledger: Ledger, owner: str, wanted: Entry, seen: Entry | None = None) -> LedgerResult:
    """Reserve at one owner. seen: the entry of an earlier attempt, which is taken over."""
    found = ledger.reserve({owner: wanted}, {} if seen is None else {owner: seen})
    return LedgerResult(found.outcome, found.ledgers[owner])


def now(ledger: Ledger, owner: str = NODE) -> NodeLedger:
    """Return the owner's ledger after checking that its amounts add up."""
    found = ledger.table.node(owner)
    assert found is not None
    assert_adds_up(found)
    return found


def assert_adds_up(ledger: NodeLedger) -> None:
    pools = {*ledger.capacity, *(ledger.avail or {}), *ledger.owed}
    for pool in pools | {pool for each in ledger.entries.values() for pool in each.shares}:
        avail, owed = (ledger.avail or {}).get(pool, 0), ledger.owed.get(pool, 0)
        assert avail >= 0
        assert owed >= 0
        assert avail * owed == 0
        assert avail - owed + ledger.allocated(pool) == ledger.capacity.get(pool, 0)
