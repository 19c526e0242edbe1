"""What may be done to a node's ledger: each operation is one conditional write, made again on what it ran into.

An operation begins with what its caller has seen of the item, or with a guess: without devices the first write of a
reservation needs no read before it. Where a condition did not hold, the answer has the item as it was then, and the
operation looks again whether it has been carried out already, is impossible, or is to be written differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger
from berth.reservations.ledger.node_write import EntryIs, NodeWrite, reserving, resizing, settling
from berth.reservations.ledger.table import LedgerTable, Written

TRIES = 20
"""More than any race lasts: only writes that pass through 0 name a value, and those of one node come from few."""


class LedgerOutcome(StrEnum):
    """How one operation on a node's ledger ended. Where bind has the same outcome, the name is BindOutcome's.

    DONE: the ledger is as intended, by this write or by an earlier one. ENTRY_DIFFERS: the pod's entry is not the
    expected one, or there is an entry where none was expected. INSUFFICIENT: a pool has too little left. NO_LEDGER: the
    node has no item, or the item is being rebuilt. STALE_EPOCH: a watcher of a later epoch has written. CONTENDED:
    other writes came first at every try.
    """

    DONE = "done"
    ENTRY_DIFFERS = "entry-differs"
    INSUFFICIENT = "insufficient"
    NO_LEDGER = "no-ledger"
    STALE_EPOCH = "stale-epoch"
    CONTENDED = "contended"


@dataclass(frozen=True, slots=True)
class LedgerResult:
    """How it ended, and the ledger as of then: as the write left it, or as it was when its condition did not hold.

    None where the node has no item. `done`: in short.
    """

    outcome: LedgerOutcome
    ledger: NodeLedger | None

    @property
    def done(self) -> bool:
        return self.outcome is LedgerOutcome.DONE

    def entry(self, uid: str) -> Entry | None:
        """The pod's, as of then."""
        return None if self.ledger is None else self.ledger.entries.get(uid)


Plan = Callable[[NodeLedger], NodeWrite | LedgerOutcome]


class Ledger:
    """Without state of its own. Every method may raise TableUnavailable, and may then be called again as it was."""

    def __init__(self, table: LedgerTable) -> None:
        self.table = table

    # --------------------------------------------------------------------------------------------------------- for bind

    def reserve(self, node: str, entry: Entry) -> LedgerResult:
        """Add the entry (RESERVED, an attempt of its own) if there is none of this pod and every pool has enough.

        One write, and never a second one. Else ENTRY_DIFFERS, INSUFFICIENT or NO_LEDGER.
        """
        change = NodeWrite(entry.pod.uid, None, entry, reserving({}, entry.shares))

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(entry.pod.uid)
            if found is not None:
                return LedgerOutcome.DONE if found.attempt == entry.attempt else LedgerOutcome.ENTRY_DIFFERS
            return change if change.holds(ledger) else LedgerOutcome.INSUFFICIENT

        return self._written(plan, NodeLedger(node, avail=entry.shares))

    def take_over(self, node: str, seen: Entry, entry: Entry) -> LedgerResult:
        """Let the attempt of `entry` own the reserved entry that was seen: the old attempt can release it no more.

        It keeps what it holds and gets what `entry` needs beyond: a Binding of the old attempt may still be on its way.
        ENTRY_DIFFERS: it is of another attempt by now, bound, or gone. INSUFFICIENT and NO_LEDGER: nothing was changed.
        """
        pools = {**seen.shares, **entry.shares}
        both = {pool: max(seen.shares.get(pool, 0), entry.shares.get(pool, 0)) for pool in pools}
        change = NodeWrite(entry.pod.uid, _is(seen), replace(entry, shares=both), reserving(seen.shares, entry.shares))

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(entry.pod.uid)
            if found is not None and found.attempt == entry.attempt:
                return LedgerOutcome.DONE
            if found is None or _is(found) != _is(seen) or found.state is not EntryState.RESERVED:
                return LedgerOutcome.ENTRY_DIFFERS
            return change if change.holds(ledger) else LedgerOutcome.INSUFFICIENT

        return self._written(plan, NodeLedger(node, avail=both, entries={entry.pod.uid: seen}))

    # ----------------------------------------------------------------------------------- for bind, and for the watcher

    def release(
        self, node: str, seen: Entry, *, epoch: int | None = None, ledger: NodeLedger | None = None
    ) -> LedgerResult:
        """Remove the entry that was seen: same attempt, same state. What it held pays what is owed, the rest is free.

        Also DONE if the pod has no entry. ENTRY_DIFFERS: it is not the one that was seen. ledger: as last seen; it
        saves a write if something is owed. epoch: the watcher's; bind has none.
        """

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(seen.pod.uid)
            if found is None:
                return LedgerOutcome.DONE
            if _is(found) != _is(seen):
                return LedgerOutcome.ENTRY_DIFFERS
            return NodeWrite(seen.pod.uid, _is(seen), None, settling(ledger, found.shares, {}), epoch)

        guess = NodeLedger(node, entries={seen.pod.uid: seen}) if ledger is None else ledger
        return self._written(plan, guess, epoch)

    # ------------------------------------------------------------------- for the watcher: fenced by its epoch, `seen`
    # being the ledger as it last read it, or had it from a result

    def settle(self, seen: NodeLedger, entry: Entry, *, epoch: int) -> LedgerResult:
        """The pod is on this node, with these shares: confirm its reservation, correct it, or adopt the pod.

        `entry`: BOUND; its attempt and since count only where the pod has none yet. Whether there is enough does not
        matter any more: what is not free is owed.
        """

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            found = ledger.entries.get(entry.pod.uid)
            if found is None:
                return NodeWrite(entry.pod.uid, None, entry, settling(ledger, {}, entry.shares), epoch)
            if found.state is EntryState.BOUND and dict(found.shares) == dict(entry.shares):
                return LedgerOutcome.DONE
            bound = replace(found, state=EntryState.BOUND, shares=entry.shares)
            return NodeWrite(entry.pod.uid, _is(found), bound, settling(ledger, found.shares, entry.shares), epoch)

        return self._written(plan, seen, epoch)

    def resize(self, seen: NodeLedger, capacity: Mapping[str, int], *, epoch: int) -> LedgerResult:
        """The node has this capacity. What grows pays what is owed; what shrinks below what is held is owed."""

        def plan(ledger: NodeLedger) -> NodeWrite | LedgerOutcome:
            pools = resizing(ledger, capacity)
            return NodeWrite(pools=pools, epoch=epoch) if pools else LedgerOutcome.DONE

        return self._written(plan, seen, epoch)

    def _written(self, plan: Plan, ledger: NodeLedger, epoch: int | None = None) -> LedgerResult:
        for _ in range(TRIES):
            planned = _refused(ledger, epoch) or plan(ledger)
            if isinstance(planned, LedgerOutcome):
                return LedgerResult(planned, ledger)
            result = self.table.write(ledger.node, planned)
            if isinstance(result, Written):
                return LedgerResult(LedgerOutcome.DONE, result.ledger)
            if result.ledger is None:
                return LedgerResult(LedgerOutcome.NO_LEDGER, None)
            ledger = result.ledger
        return LedgerResult(LedgerOutcome.CONTENDED, ledger)


def created(node: str, capacity: Mapping[str, int], entries: Mapping[str, Entry], epoch: int) -> NodeLedger:
    """The ledger of a node with this capacity, on which these pods are."""
    ledger = NodeLedger(node, entries=entries)
    pools = {**capacity, **{pool: 0 for entry in entries.values() for pool in entry.shares}}
    left = {pool: capacity.get(pool, 0) - ledger.held(pool) for pool in pools}
    return NodeLedger(
        node,
        capacity={pool: amount for pool, amount in capacity.items() if amount},
        avail={pool: amount for pool, amount in left.items() if amount > 0},
        owed={pool: -amount for pool, amount in left.items() if amount < 0},
        entries=entries,
        epoch=epoch,
    )


def _refused(ledger: NodeLedger, epoch: int | None) -> LedgerOutcome | None:
    if ledger.avail is None:
        return LedgerOutcome.NO_LEDGER
    return LedgerOutcome.STALE_EPOCH if epoch is not None and ledger.epoch > epoch else None


def _is(entry: Entry) -> EntryIs:
    return EntryIs(entry.attempt, entry.state)
