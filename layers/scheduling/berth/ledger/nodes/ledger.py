"""The operations on the ledgers of nodes and floating pools. Each is one conditional write. After a conflict it is
repeated on the item's new state. A reservation with several owners is one transaction.

An operation begins with the ledger that its caller has read, or assumes one. So a reservation without devices does not
read before its first write. If the condition is not met, DynamoDB returns the item, and the operation decides again: it
is done already, it is impossible, or it needs another write.

Guarantees: bind never adds an entry for which the owner has too little left. Each operation is idempotent: after
a lost answer the caller may repeat it. A watcher of an earlier epoch cannot write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from zlib import crc32

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.node_write import (
    EntryChange,
    NodeWrite,
    capacity_changes,
    replace_changes,
    reserve_changes,
)
from berth.ledger.nodes.table import LedgerTable, Written
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import Shares, device_of

TRIES = 20
"""Maximum number of tries: more than any race needs, because few writers change one node, and most conditions are
inequalities."""


class LedgerOutcome(StrEnum):
    """The outcome of one operation. Outcomes that bind returns have the same name in BindOutcome.

    DONE: the ledger is as intended, by this write or by an earlier one. ENTRY_DIFFERS: the pod's entry is not the
    expected one, or it exists although none was expected. INSUFFICIENT: a pool has too little left. NO_LEDGER: the
    owner does not have an item, or the item is being rebuilt. STALE_EPOCH: a watcher of a later epoch has written.
    CONTENDED: other writes came first at every try.
    """

    DONE = "done"
    ENTRY_DIFFERS = "entry-differs"
    INSUFFICIENT = "insufficient"
    NO_LEDGER = "no-ledger"
    STALE_EPOCH = "stale-epoch"
    CONTENDED = "contended"


@dataclass(frozen=True, slots=True)
class LedgerResult:
    """The outcome, and the ledger as the write left it, or as it was when the condition was not met. ledger: None if
    the owner does not have an item."""

    outcome: LedgerOutcome
    ledger: NodeLedger | None

    @property
    def done(self) -> bool:
        return self.outcome is LedgerOutcome.DONE


@dataclass(frozen=True, slots=True)
class Reserved:
    """The outcome of one reservation, and the ledgers by owner, as in LedgerResult. A ledger that was neither read nor
    written is the ledger that the operation assumed."""

    outcome: LedgerOutcome
    ledgers: Mapping[str, NodeLedger]

    def entries(self, uid: str) -> Mapping[str, Entry]:
        """Return the pod's entries, by owner."""
        return {owner: ledger.entries[uid] for owner, ledger in self.ledgers.items() if uid in ledger.entries}


Plan = Callable[[NodeLedger], NodeWrite | LedgerOutcome]
"""Returns the write for this state of the ledger, or the outcome if a write is not needed or not possible."""


@dataclass(frozen=True, slots=True)
class ReservationPlan:
    """The write by which one attempt reserves in the ledger of one owner. seen: the entry that the attempt takes over;
    None: the pod must not have an entry."""

    entry: Entry
    seen: Entry | None

    def guess(self, owner: str) -> NodeLedger:
        """Return the ledger that the first write assumes: bind does not have to read before it writes."""
        if self.seen is None:
            return NodeLedger(owner, avail=self.entry.shares)
        return NodeLedger(owner, avail=self._both(self.seen), entries={self.entry.pod.uid: self.seen})

    def write(self, ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
        if ledger.avail is None:
            return LedgerOutcome.NO_LEDGER
        found, seen = ledger.entries.get(self.entry.pod.uid), self.seen
        if found is not None and found.attempt == self.entry.attempt:
            return LedgerOutcome.DONE
        if seen is None:
            if found is not None:
                return LedgerOutcome.ENTRY_DIFFERS
            change = NodeWrite(_only(None, self.entry), reserve_changes({}, self.entry.shares))
        elif found is None or not found.is_unchanged(seen) or found.state is not EntryState.RESERVED:
            return LedgerOutcome.ENTRY_DIFFERS
        else:
            entry = replace(self.entry, shares=self._both(seen))
            change = NodeWrite(_only(seen, entry), reserve_changes(seen.shares, self.entry.shares))
        return change if change.is_met_by(ledger) else LedgerOutcome.INSUFFICIENT

    def _both(self, seen: Entry) -> Shares:
        pools = {**seen.shares, **self.entry.shares}
        return {pool: max(seen.shares.get(pool, 0), self.entry.shares.get(pool, 0)) for pool in pools}


class Ledger:
    """The operations. Stateless. Every method may raise TableUnavailable, and may then be repeated with the same
    arguments."""

    def __init__(self, table: LedgerTable) -> None:
        self.table = table

    # --------------------------------------------------------------------------------------------------------- for bind

    def reserve(
        self, wanted: Mapping[str, Entry], seen: Mapping[str, Entry], opened: OpenReservation | None = None
    ) -> Reserved:
        """Write the RESERVED entries of one attempt, by owner: all of them or none. opened: the attempt's open
        reservation, which a transaction writes with the entries; for only one owner, the caller has already written it.

        If the pod does not have an entry, every pool must have enough. An entry in `seen` is RESERVED by an earlier
        attempt. It is taken over, so that the earlier attempt cannot release it. It keeps its amounts, because a
        Binding of the earlier attempt may still arrive, and gets the amounts that the new attempt needs in addition.

        ENTRY_DIFFERS: an entry is bound, is gone, belongs to another attempt, or is not in `seen`. INSUFFICIENT,
        NO_LEDGER: nothing is written.
        """
        plans = {owner: ReservationPlan(entry, seen.get(owner)) for owner, entry in wanted.items()}
        ledgers = {owner: plan.guess(owner) for owner, plan in plans.items()}
        for _ in range(TRIES):
            planned = {owner: plan.write(ledgers[owner]) for owner, plan in plans.items()}
            refusals = {each for each in planned.values() if isinstance(each, LedgerOutcome)} - {LedgerOutcome.DONE}
            writes = {owner: each for owner, each in planned.items() if isinstance(each, NodeWrite)}
            if refusals or not writes:
                return Reserved(min(refusals, default=LedgerOutcome.DONE), ledgers)
            found = self._written(writes, ledgers, opened)
            if None in found.values():
                return Reserved(LedgerOutcome.NO_LEDGER, ledgers)
            ledgers |= {owner: ledger for owner, ledger in found.items() if ledger is not None}
        return Reserved(LedgerOutcome.CONTENDED, ledgers)

    def _written(
        self, writes: Mapping[str, NodeWrite], seen: Mapping[str, NodeLedger], opened: OpenReservation | None
    ) -> Mapping[str, NodeLedger | None]:
        """Make these writes, or none of them. Return the ledgers afterwards; None for an owner without an item."""
        if len(seen) == 1:
            ((owner, write),) = writes.items()
            return {owner: self.table.write(owner, write).ledger}
        if self.table.write_together(writes, opened) is None:
            # Only the parts that the writes change are known; the other parts are assumed.
            return {owner: write.applied_to(seen[owner]) for owner, write in writes.items()}
        return {owner: self.table.node(owner) for owner in writes}

    def shrink(self, ledger: NodeLedger, seen: Entry, entry: Entry) -> LedgerResult:
        """Give the reserved entry `seen` to the attempt of `entry`, and reduce it to the shares of `entry`.

        Call this only if no later Binding needs more. The attempt is new, so a write of another bind that has seen the
        larger entry fails. Released amounts reduce `owed` first. ENTRY_DIFFERS: the entry is bound, is gone, or belongs
        to another attempt. ledger: the ledger as last read.
        """

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(entry.pod.uid)
            if found is not None and found.attempt == entry.attempt:
                return LedgerOutcome.DONE
            if found is None or not found.is_unchanged(seen):
                return LedgerOutcome.ENTRY_DIFFERS
            return NodeWrite(_only(seen, entry), replace_changes(ledger, found.shares, entry.shares))

        return self._write(plan, ledger)

    # ----------------------------------------------------------------------------------- for bind, and for the watcher

    def release(
        self, node: str, seen: Entry, *, epoch: int | None = None, ledger: NodeLedger | None = None
    ) -> LedgerResult:
        """Remove the entry if it still has the attempt and the state of `seen`. Its amounts reduce `owed` first.

        DONE also if the pod does not have an entry. ENTRY_DIFFERS: the entry has changed. ledger: the ledger as last
        read, which saves a write if amounts are owed. epoch: the watcher's epoch; None for bind.
        """

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(seen.pod.uid)
            if found is None:
                return LedgerOutcome.DONE
            if not found.is_unchanged(seen):
                return LedgerOutcome.ENTRY_DIFFERS
            gone = EntryChange(seen.pod.uid, seen, None)
            return NodeWrite((gone,), replace_changes(ledger, found.shares, {}), epoch)

        guess = NodeLedger(node, entries={seen.pod.uid: seen}) if ledger is None else ledger
        return self._write(plan, guess, epoch)

    # --------------------------------------------------------------------------------- for the watcher: fenced by epoch

    def put_bound(self, seen: NodeLedger, entry: Entry, *, epoch: int) -> LedgerResult:
        """Make the entry of a pod on this node BOUND with these shares: correct its shares, or add the entry.

        seen: the ledger as last read. entry: its attempt and since are used only if the pod does not have an entry yet.
        Amounts that are not available become owed.
        """

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(entry.pod.uid)
            if found is None:
                return NodeWrite(_only(None, entry), replace_changes(ledger, {}, entry.shares), epoch)
            if found.state is EntryState.BOUND and dict(found.shares) == dict(entry.shares):
                return LedgerOutcome.DONE
            bound = replace(found, state=EntryState.BOUND, shares=entry.shares)
            return NodeWrite(_only(found, bound), replace_changes(ledger, found.shares, entry.shares), epoch)

        return self._write(plan, seen, epoch)

    def resize(self, seen: NodeLedger, capacity: Mapping[str, int], *, epoch: int) -> LedgerResult:
        """Set the node's capacity. seen: the ledger as last read. Growth reduces `owed` first. Amounts that the entries
        hold beyond a smaller capacity become owed."""

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            pools = capacity_changes(ledger, capacity)
            return NodeWrite(pools=pools, epoch=epoch) if pools else LedgerOutcome.DONE

        return self._write(plan, seen, epoch)

    def _write(self, plan: Plan, ledger: NodeLedger, epoch: int | None = None) -> LedgerResult:
        for _ in range(TRIES):
            planned = _not_writable(ledger, epoch) or plan(ledger)
            if isinstance(planned, LedgerOutcome):
                return LedgerResult(planned, ledger)
            result = self.table.write(ledger.owner, planned)
            if isinstance(result, Written):
                return LedgerResult(LedgerOutcome.DONE, result.ledger)
            if result.ledger is None:
                return LedgerResult(LedgerOutcome.NO_LEDGER, None)
            ledger = result.ledger
        return LedgerResult(LedgerOutcome.CONTENDED, ledger)


def new_ledger(owner: str, capacity: Mapping[str, int], entries: Mapping[str, Entry], epoch: int) -> NodeLedger:
    """Return the ledger of an owner with this capacity and these entries."""
    ledger = NodeLedger(owner, entries=entries)
    pools = {**capacity, **{pool: 0 for entry in entries.values() for pool in entry.shares}}
    left = {pool: capacity.get(pool, 0) - ledger.allocated(pool) for pool in pools}
    return NodeLedger(
        owner,
        capacity={pool: amount for pool, amount in capacity.items() if amount},
        avail={pool: amount for pool, amount in left.items() if amount > 0},
        owed={pool: -amount for pool, amount in left.items() if amount < 0},
        entries=entries,
        epoch=epoch,
    )


def _not_writable(ledger: NodeLedger, epoch: int | None) -> LedgerOutcome | None:
    if ledger.avail is None:
        return LedgerOutcome.NO_LEDGER
    return LedgerOutcome.STALE_EPOCH if epoch is not None and ledger.epoch > epoch else None


def _only(seen: Entry | None, after: Entry) -> tuple[EntryChange, ...]:
    return (EntryChange(after.pod.uid, seen, after),)


ANY_AFTER = 2
"""After this many lost races, any device of the same size with enough room is chosen."""


class ShareChoice:
    """Chooses the shares of one pod at an owner, by pool. Deterministic: the same input gives the same choice."""

    def __init__(self, counting: Counting, demands: Sequence[Demand], floating: Shares, pod_uid: str) -> None:
        """Prepare the choice. floating: the shares of floating pools, which are not chosen."""
        self._counting, self._demands, self._floating, self._uid = counting, demands, floating, pod_uid

    def without_devices(self) -> Shares | None:
        """Return the shares if no device has to be chosen; the ledger is not needed then. None: read the ledger."""
        asked = {demand.resource: demand.amount for demand in self._demands}
        chosen = self._counting.choose(self._demands, {}, asked)
        return None if isinstance(chosen, Insufficient) else chosen

    def at(self, ledger: NodeLedger, lost_races: int = 0) -> Shares | Insufficient:
        if (pool := ledger.owner) in self._floating:
            own = ledger.entries[self._uid].shares.get(pool, 0) if self._uid in ledger.entries else 0
            has_room = (ledger.avail or {}).get(pool, 0) + own >= self._floating[pool]
            return {pool: self._floating[pool]} if has_room else Insufficient((pool,), never=False)
        chosen = self._chosen(ledger)
        if isinstance(chosen, Insufficient) or self._uid in ledger.entries:
            return chosen
        return self._spread(chosen, ledger, lost_races)

    def _chosen(self, ledger: NodeLedger) -> Shares | Insufficient:
        """Choose from the ledger. The pod's own amounts are available to it, and are kept if they are enough."""
        avail, entry = ledger.avail or {}, ledger.entries.get(self._uid)
        if entry is None:
            return self._counting.choose(self._demands, ledger.capacity, avail)
        held = self._counting.choose(self._demands, ledger.capacity, entry.shares)
        if not isinstance(held, Insufficient):
            return held
        own = {pool: avail.get(pool, 0) + entry.shares.get(pool, 0) for pool in {**avail, **entry.shares}}
        return self._counting.choose(self._demands, ledger.capacity, own)

    def _spread(self, shares: Shares, ledger: NodeLedger, lost_races: int) -> Shares:
        """Choose among equally good devices by a hash, so that concurrent binds choose different devices. Equally good:
        of the same size, with as much room. After ANY_AFTER lost races: of the same size, with enough room."""
        found: dict[str, int] = {}
        for pool, amount in shares.items():
            equal = _equal_devices(pool, amount, ledger, any_room=lost_races >= ANY_AFTER)
            chosen = equal[crc32(f"{self._uid} {lost_races}".encode()) % len(equal)] if equal else pool
            found[chosen] = amount
        return found


def _equal_devices(pool: str, amount: int, ledger: NodeLedger, *, any_room: bool) -> list[str]:
    """Return the devices of the pool's resource and size with as much room left; with `any_room`, with room for the
    amount. Empty if the pool is not a device."""
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
