"""Brings the ledger of one owner, a node or a floating pool, to the published state.

Guarantees: every write changes one entry or the capacity, and is fenced: it fails if a watcher of a later epoch has
written the item. A late write of a slow watcher does no harm if the published fact stays true (a pod never changes its
node, an ended pod never returns). The capacity may change, and a pod may leave a floating pool. So each watcher claims
the item first, by writing its epoch, and then reads it: earlier watchers can no longer change it.

A bound entry is released only on proof that its pod has ended. A publication may lack a running pod. So without a
published end the pod is read from the API server, once in a leadership.

Not guaranteed: that one call completes. After NodeResult.must_retry, call `reconcile` again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome, LedgerResult, new_ledger
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import LedgerTable, NotWritten, Written
from berth.pods import FoundPod, ReservedPods, Unanswered
from berth.scheduling.managed_resources.pools import Shares
from berth.upkeep.reconciler.events import Report, ReservationEvent, ReservationEventType
from berth.upkeep.reconciler.published_pods import Presence, PublishedPods

LOOK_SECONDS = 1.0
"""Seconds between two reads of reservations from before this leadership."""

PodAmounts = Mapping[str, Shares]
"""Amounts by the UID of a pod."""


class StaleEpoch(Exception):
    """A watcher of a later epoch has written: this watcher must no longer write, and resigns. later: that epoch, of
    a successor or of an earlier leadership whose head item was lost."""

    def __init__(self, item: str, later: int) -> None:
        super().__init__(item)
        self.later = later


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result for one owner. reserved: entries whose pod is not published on a node yet. needs_rebuild: the ledger
    does not have `avail`.

    is_growth_deferred: some pools cannot be counted yet, because earlier reservations may hold their resource
    elsewhere. must_retry: other writes came first at every try, or the state has changed. unanswered: the error of a
    request that asks the API server whether a pod has ended; the entry stays, and the node has to be reconciled again.
    leaves_open: an open reservation is left whose entries may all be confirmed or released.
    """

    reserved: tuple[Entry, ...] = ()
    is_growth_deferred: bool = False
    needs_rebuild: bool = False
    must_retry: bool = False
    unanswered: str = ""
    leaves_open: bool = False


class NodeReconciliation:
    """Reconciles nodes in one thread while this process leads. Methods may raise TableUnavailable or StaleEpoch; then
    call them again."""

    def __init__(
        self,
        table: LedgerTable,
        pods: ReservedPods,
        published: PublishedPods,
        epoch: int,
        wall: Callable[[], float],
        report: Report,
        is_table_ready: Callable[[], bool],
    ) -> None:
        """Create the reconciliation. is_table_ready: returns whether the marker is READY; called before an item is
        created for an owner that does not have an item. If the table's content was lost, creating the item would forget
        the reservations."""
        self._table = table
        self._ledger = Ledger(table)
        self._pods = pods
        self._published = published
        self._epoch = epoch
        self._wall = wall
        self._report = report
        self._is_table_ready = is_table_ready
        self._began_at = self._older_until = wall()
        self._older: list[OpenReservation] | None = None
        """Open reservations from before this leadership; None before the first use. Their number only decreases."""
        self._claimed: set[str] = set()
        self._unanswered, self._leaves_open = "", False
        self._reported: dict[tuple[ReservationEventType, str], Mapping[str, Shares]] = {}
        """The amounts that were reported for pods, by event type and node, then by UID."""

    def reconcile(self, node: str) -> NodeResult:
        self._unanswered, self._leaves_open = "", False
        found = self._table.node(node) if node in self._claimed else self._claim(node)
        if found is None:
            self._claimed.discard(node)
            return self._create(node)
        if found.epoch > self._epoch:
            raise StaleEpoch(node, found.epoch)
        if found.avail is None:
            return NodeResult(needs_rebuild=True)
        return self._update(found)

    def rebuild(self, node: str) -> bool:
        """Create the ledger from the published pods, and replace the ledger that is being rebuilt, if there is one.

        Entries that still exist are kept if their pods are on the node. Return False, without a write, if the API
        server did not show whether a pod is there.
        """
        self._unanswered = ""
        found = self._table.node(node)
        for uid, entry in (found.entries if found is not None else {}).items():
            if self._published.presence(uid, node) is Presence.UNKNOWN:
                # Check a reserved pod, too: its Bindings can no longer succeed, but one may have succeeded.
                self._has_ended_at_api_server(node, entry)
        if self._unanswered:
            return False
        ledger = self._published_ledger(node, found)
        written = self._table.finish_rebuild(ledger)
        if isinstance(written, NotWritten):
            if written.ledger is not None and written.ledger.epoch > self._epoch:
                raise StaleEpoch(node, written.ledger.epoch)
            return True
        self._report_node(ReservationEventType.REBUILT, node, ledger.capacity)
        self._settle(None, ledger)
        return True

    def _claim(self, node: str) -> NodeLedger | None:
        written = self._table.write(node, NodeWrite(epoch=self._epoch))
        if isinstance(written, Written):
            self._claimed.add(node)
        return written.ledger

    def _create(self, node: str) -> NodeResult:
        if not self._published.capacity(node):
            return NodeResult()
        if not self._is_table_ready():
            return NodeResult(must_retry=True)
        if self._has_other_reservations(self._published.capacity(node)):
            return NodeResult(is_growth_deferred=True)
        ledger = self._published_ledger(node, None)
        if isinstance(self._table.create(ledger), NotWritten):
            return NodeResult(must_retry=True)
        self._report_node(ReservationEventType.CREATED, node, ledger.capacity)
        self._settle(None, ledger)
        return NodeResult()

    def _published_ledger(self, node: str, known: NodeLedger | None) -> NodeLedger:
        entries = self._published.entries(node, known, self._wall())
        return new_ledger(node, self._published.capacity(node), entries, self._epoch)

    def _update(self, before: NodeLedger) -> NodeResult:
        """Update entries first, then the capacity: a pool grows only after it counts the amounts of the pods."""
        wanted = self._published.entries(before.owner, before, self._wall())
        ledger: NodeLedger | None = before
        for uid, entry in before.entries.items():
            if ledger is not None and uid not in wanted and self._is_over(before.owner, entry):
                ledger = self._release(ledger, entry)
        for entry in wanted.values():
            if ledger is not None and not _is_bound_with(ledger.entries.get(entry.pod.uid), entry):
                ledger = self._put_bound(ledger, entry)
        deferred: Set[str] = frozenset()
        if ledger is not None:
            deferred = self._deferred_pools(ledger)
            ledger = self._resize(ledger, deferred)
        if ledger is None:
            return NodeResult(must_retry=True)
        self._settle(before, ledger)
        if not ledger.capacity and not ledger.entries:
            return self._delete(ledger.owner)
        reserved = tuple(each for each in ledger.entries.values() if each.state is EntryState.RESERVED)
        return NodeResult(reserved, bool(deferred), unanswered=self._unanswered, leaves_open=self._leaves_open)

    def _deferred_pools(self, ledger: NodeLedger) -> Set[str]:
        """Return the pools that must not grow yet: the ledger begins to count their resource in them, and an entry may
        still hold other pools. Reservations from before this leadership may come from an earlier configuration."""
        anew = self._published.pools_counted_anew(ledger)
        entries = ledger.entries.values() if anew else ()
        is_older = any(each.state is EntryState.RESERVED and each.since < self._began_at for each in entries)
        if is_older or (anew and self._published.has_other_pools(ledger)) or self._has_other_reservations(anew):
            return anew
        return frozenset()

    def _has_other_reservations(self, pools: Iterable[str]) -> bool:
        """Return whether a bind that is older than this leadership has reserved a resource of these pools in other
        domains, by an earlier configuration: these pools do not count that reservation yet."""
        if not pools:
            return False
        if self._older is None or (self._older and self._wall() >= self._older_until):
            self._older = [each for each in self._table.open_reservations() if each.since < self._began_at]
            self._older_until = self._wall() + LOOK_SECONDS
        return any(self._published.counts_otherwise(each.shares, pools) for each in self._older)

    def _settle(self, before: NodeLedger | None, ledger: NodeLedger) -> None:
        """Report problems of a ledger that is up to date, and forget the pods that have ended."""
        self._report_overcommitment(before, ledger)
        self._report_pods(ReservationEventType.DIVERGED, "the pod now claims {}", ledger, self._published.divergences)
        self._report_pods(
            ReservationEventType.BEYOND_LIMIT,
            "the pod requests more than a pod is charged: {}",
            ledger,
            self._published.beyond_limits,
        )
        self._published.forget_ended(ledger.owner, ledger.entries.keys())

    def _is_over(self, node: str, entry: Entry) -> bool:
        """Return whether the entry's pod has ended or is on another node; True only on proof. A reserved pod may not be
        published or bound yet; Expiry decides then."""
        presence = self._published.presence(entry.pod.uid, node)
        if presence is Presence.UNKNOWN and entry.state is EntryState.BOUND:
            return self._has_ended_at_api_server(node, entry)
        return presence is Presence.GONE

    def _has_ended_at_api_server(self, owner: str, entry: Entry) -> bool:
        if self._unanswered:
            # Do not ask again after a timeout: the node is reconciled again.
            return False
        match self._pods.find(entry.pod):
            case Unanswered(cause=cause):
                self._unanswered = cause
                return False
            case FoundPod() as found if found.uid == entry.pod.uid and not found.finished:
                if found.node:
                    self._published.keep(entry.pod, found.node, (owner,))
                # From now on `presence` is known for the kept pod.
                return bool(found.node) and self._published.presence(entry.pod.uid, owner) is not Presence.HERE
            case _:
                return True

    def _release(self, ledger: NodeLedger, entry: Entry) -> NodeLedger | None:
        result = self._ledger.release(ledger.owner, entry, epoch=self._epoch, ledger=ledger)
        now = self._ledger_after(result)
        if now is not None:
            if entry.state is EntryState.RESERVED:
                self._delete_open(ledger.owner, entry)
            self._report_entry(ReservationEventType.RELEASED, ledger.owner, entry)
        return now

    def _put_bound(self, ledger: NodeLedger, entry: Entry) -> NodeLedger | None:
        known = ledger.entries.get(entry.pod.uid)
        now = self._ledger_after(self._ledger.put_bound(ledger, entry, epoch=self._epoch))
        if now is None:
            return None
        if known is None:
            self._report_entry(ReservationEventType.ADOPTED, ledger.owner, entry)
        elif known.state is EntryState.BOUND:
            self._report_entry(ReservationEventType.CORRECTED, ledger.owner, entry)
        else:
            # Delete the open reservation only now: filter counts the pod by it until the cache has the pod.
            self._delete_open(ledger.owner, known)
            self._report_entry(ReservationEventType.CONFIRMED, ledger.owner, entry)
        return now

    def _delete_open(self, owner: str, entry: Entry) -> None:
        """Delete the open reservation of an entry that is no longer reserved."""
        if self._published.floats:
            # The attempt may have entries at other owners, which only its open reservation lists (see Expiry).
            self._leaves_open = True
        else:
            self._table.delete_open(entry.pod.uid, owner, entry.attempt)

    def _resize(self, ledger: NodeLedger, deferred: Set[str]) -> NodeLedger | None:
        published = self._published.capacity(ledger.owner)
        capacity = {pool: amount for pool, amount in published.items() if pool not in deferred}
        if ledger.capacity == capacity:
            return ledger
        now = self._ledger_after(self._ledger.resize(ledger, capacity, epoch=self._epoch))
        if now is not None:
            self._report_node(ReservationEventType.RESIZED, ledger.owner, capacity)
        return now

    def _delete(self, node: str) -> NodeResult:
        if isinstance(self._table.delete_if_empty(node, self._epoch), NotWritten):
            return NodeResult(must_retry=True)
        self._report_node(ReservationEventType.DELETED, node, {})
        return NodeResult()

    def _ledger_after(self, result: LedgerResult) -> NodeLedger | None:
        """Return the ledger after the operation, or None if the node has to be reconciled again."""
        if result.outcome is LedgerOutcome.STALE_EPOCH:
            raise stale_epoch(result)
        return result.ledger if result.done else None

    def _report_pods(
        self, event: ReservationEventType, text: str, ledger: NodeLedger, find: Callable[[NodeLedger], PodAmounts]
    ) -> None:
        """Report each pod, unless it was last reported with the same amounts."""
        found = find(ledger)
        reported = self._reported.pop((event, ledger.owner), {})
        if found:
            self._reported[event, ledger.owner] = found
        for uid, amounts in found.items():
            if reported.get(uid) != amounts:
                entry = ledger.entries.get(uid)
                held = {} if entry is None else entry.shares
                listed = ", ".join(f"{pool} {amount}" for pool, amount in sorted(amounts.items())) or "nothing"
                key = self._published.key(uid)
                pod = f"{key.namespace}/{key.name}"
                self._report(ReservationEvent(event, ledger.owner, pod, held, text.format(listed), uid))

    def _report_node(self, event: ReservationEventType, node: str, amounts: Mapping[str, int]) -> None:
        self._report(ReservationEvent(event, node, amounts=amounts))

    def _report_entry(self, event: ReservationEventType, node: str, entry: Entry) -> None:
        self._report(ReservationEvent(event, node, f"{entry.pod.namespace}/{entry.pod.name}", entry.shares))

    def _report_overcommitment(self, before: NodeLedger | None, now: NodeLedger) -> None:
        known = {} if before is None else before.owed
        grown = {pool: amount for pool, amount in now.owed.items() if amount > known.get(pool, 0)}
        if grown:
            detail = "more is held than there is"
            self._report(ReservationEvent(ReservationEventType.OWED, now.owner, amounts=grown, detail=detail))


def _is_bound_with(found: Entry | None, wanted: Entry) -> bool:
    return found is not None and found.state is EntryState.BOUND and dict(found.shares) == dict(wanted.shares)


def stale_epoch(result: LedgerResult) -> StaleEpoch:
    """Return the exception for an operation with the outcome STALE_EPOCH."""
    return StaleEpoch("", 0) if result.ledger is None else StaleEpoch(result.ledger.owner, result.ledger.epoch)
