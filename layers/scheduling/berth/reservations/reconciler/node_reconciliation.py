"""One node's ledger, brought to what is published of that node.

Every write is of one entry, or of the capacity, on condition that no later watcher has written; each is true for good
once it is published (a pod's node never changes, an ended pod never comes back), so it does not matter when a slow
watcher's arrives. What is not is the capacity, and that a pod is there. Therefore a watcher claims each item, by
writing its epoch, before it looks at it: what it finds then, no deposed watcher changes any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger
from berth.reservations.ledger.ledger import Ledger, LedgerOutcome, LedgerResult, created
from berth.reservations.ledger.node_write import NodeWrite
from berth.reservations.ledger.table import LedgerTable, NotWritten, Written
from berth.reservations.reconciler.events import Event, Report, ReservationEvent
from berth.reservations.reconciler.published_pods import PublishedPods


class Outranked(Exception):
    """A later watcher has written: this one is deposed, and is to do nothing any more."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """reserved: entries whose bind has not completed as far as is published. blank: the ledger has to be rebuilt.
    unfinished: others were faster time and again, or something changed meanwhile: visit the node again."""

    reserved: tuple[Entry, ...] = ()
    blank: bool = False
    unfinished: bool = False


class NodeReconciliation:
    """For one thread, and one leadership. Every method may raise TableUnavailable and Outranked; what was not done then
    is done by the next visit."""

    def __init__(
        self,
        table: LedgerTable,
        roll: PublishedPods,
        epoch: int,
        wall: Callable[[], float],
        report: Report,
        is_ready: Callable[[], bool],
    ) -> None:
        """`is_ready`: whether the table's marker is what it was, asked before an item is made for a node without one:
        in a table that was lost, that would forget what is reserved."""
        self._table = table
        self._ledger = Ledger(table)
        self._roll = roll
        self._epoch = epoch
        self._wall = wall
        self._report = report
        self._is_ready = is_ready
        self._claimed: set[str] = set()

    def visit(self, node: str) -> Reconciled:
        """Look at the node's ledger, and write what is to be different."""
        found = self._table.node(node) if node in self._claimed else self._claim(node)
        if found is None:
            self._claimed.discard(node)
            return self._create(node)
        if found.epoch > self._epoch:
            raise Outranked(node)
        if found.avail is None:
            return Reconciled(blank=True)
        return self._settled(found)

    def _claim(self, node: str) -> NodeLedger | None:
        written = self._table.write(node, NodeWrite(epoch=self._epoch))
        if isinstance(written, Written):
            self._claimed.add(node)
        return written.ledger

    def fill(self, node: str) -> bool:
        """Make the ledger of the published pods, in the place of a blank one or of none. False: it is neither."""
        ledger = self._as_published(node)
        written = self._table.create(ledger, over_blank=True)
        if isinstance(written, NotWritten):
            _refuse_outranked(written.ledger, self._epoch)
            return False
        self._tell(ReservationEvent.REBUILT, node, amounts=ledger.capacity)
        self._tell_owed(None, ledger)
        return True

    def _create(self, node: str) -> Reconciled:
        if not self._roll.capacity(node):
            return Reconciled()
        if not self._is_ready():
            return Reconciled(unfinished=True)
        ledger = self._as_published(node)
        if isinstance(self._table.create(ledger), NotWritten):
            return Reconciled(unfinished=True)
        self._tell(ReservationEvent.CREATED, node, amounts=ledger.capacity)
        self._tell_owed(None, ledger)
        return Reconciled()

    def _as_published(self, node: str) -> NodeLedger:
        entries = self._roll.entries(node, None, self._wall())
        return created(node, self._roll.capacity(node), entries, self._epoch)

    def _settled(self, before: NodeLedger) -> Reconciled:
        """Entries first, then the capacity: what pods hold is in the pools before a pool grows beyond it."""
        wanted = self._roll.entries(before.node, before, self._wall())
        now: NodeLedger | None = before
        for uid, entry in before.entries.items():
            if now is not None and uid not in wanted and self._is_over(entry):
                now = self._released(now, entry)
        for entry in wanted.values():
            if now is not None and not _is_bound_with(now.entries.get(entry.pod.uid), entry):
                now = self._bound(now, entry)
        if now is not None:
            now = self._resized(now)
        if now is None:
            return Reconciled(unfinished=True)
        self._tell_owed(before, now)
        return self._left(now)

    def _is_over(self, entry: Entry) -> bool:
        """A bound pod that is not published there any more has ended, or nothing of it is counted any more. A reserved
        one may not be published yet, as long as it is not known to be somewhere else or to have ended."""
        return entry.state is EntryState.BOUND or self._roll.settled(entry.pod.uid)

    def _released(self, ledger: NodeLedger, entry: Entry) -> NodeLedger | None:
        result = self._ledger.release(ledger.node, entry, epoch=self._epoch, ledger=ledger)
        now = self._through(result)
        if now is not None:
            if entry.state is EntryState.RESERVED:
                self._table.delete_open(entry.pod.uid, ledger.node, entry.attempt)
            self._tell(ReservationEvent.RELEASED, ledger.node, entry)
        return now

    def _bound(self, ledger: NodeLedger, entry: Entry) -> NodeLedger | None:
        known = ledger.entries.get(entry.pod.uid)
        now = self._through(self._ledger.settle(ledger, entry, epoch=self._epoch))
        if now is None:
            return None
        if known is None:
            self._tell(ReservationEvent.ADOPTED, ledger.node, entry)
        elif known.state is EntryState.BOUND:
            self._tell(ReservationEvent.CORRECTED, ledger.node, entry)
        else:
            # Only now: filter counts the pod by its open reservation until it has it from the cache.
            self._table.delete_open(entry.pod.uid, ledger.node, known.attempt)
            self._tell(ReservationEvent.CONFIRMED, ledger.node, entry)
        return now

    def _resized(self, ledger: NodeLedger) -> NodeLedger | None:
        capacity = self._roll.capacity(ledger.node)
        if ledger.capacity == capacity:
            return ledger
        now = self._through(self._ledger.resize(ledger, capacity, epoch=self._epoch))
        if now is not None:
            self._tell(ReservationEvent.RESIZED, ledger.node, amounts=capacity)
        return now

    def _left(self, ledger: NodeLedger) -> Reconciled:
        """Delete what is of no use."""
        if not ledger.capacity and not ledger.entries:
            if isinstance(self._table.delete_if_empty(ledger.node, self._epoch), NotWritten):
                return Reconciled(unfinished=True)
            self._tell(ReservationEvent.DELETED, ledger.node)
            return Reconciled()
        return Reconciled(tuple(each for each in ledger.entries.values() if each.state is EntryState.RESERVED))

    def _through(self, result: LedgerResult) -> NodeLedger | None:
        """The ledger afterwards; None where the visit has to begin anew."""
        if result.outcome is LedgerOutcome.STALE_EPOCH:
            raise Outranked("" if result.ledger is None else result.ledger.node)
        return result.ledger if result.done else None

    def _tell(
        self,
        happening: ReservationEvent,
        node: str,
        entry: Entry | None = None,
        amounts: Mapping[str, int] | None = None,
    ) -> None:
        if entry is None:
            self._report(Event(happening, node, amounts=amounts or {}))
        else:
            self._report(Event(happening, node, f"{entry.pod.namespace}/{entry.pod.name}", entry.shares))

    def _tell_owed(self, before: NodeLedger | None, now: NodeLedger) -> None:
        known = {} if before is None else before.owed
        grown = {pool: amount for pool, amount in now.owed.items() if amount > known.get(pool, 0)}
        if grown:
            self._report(Event(ReservationEvent.OWED, now.node, amounts=grown, detail="more is held than the node has"))


def _refuse_outranked(ledger: NodeLedger | None, epoch: int) -> None:
    if ledger is not None and ledger.epoch > epoch:
        raise Outranked(ledger.node)


def _is_bound_with(found: Entry | None, wanted: Entry) -> bool:
    return found is not None and found.state is EntryState.BOUND and dict(found.shares) == dict(wanted.shares)
