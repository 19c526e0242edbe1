"""Giving back what was reserved for a bind that never completed.

Guarantees. What is released can be given to another pod: no Binding of the first can succeed any more. For either the
pod is gone, has ended or is on another node for good; or it was seen unbound and then touched, so that every Binding
that was sent before fails by its resourceVersion, and the entry is released only if it is still of the attempt that was
read before all this. An attempt that reads the pod after it was touched writes itself into the entry before it sends
its Binding: then the release fails; or the release comes first: then the attempt reserves anew.

Age plays no part in it. It only spares binds that are under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from berth.reservations.ledger.entry import Entry, EntryState, OpenReservation, PodKey
from berth.reservations.ledger.ledger import Ledger, LedgerOutcome
from berth.reservations.ledger.table import LedgerTable
from berth.reservations.reconciler.node_reconciliation import Outranked
from berth.reservations.reconciler.reserved_pods import Changed, Found, NotFound, ReservedPods, Touched, Unknown

TOUCHES = 3


class ExpiryOutcome(StrEnum):
    """RELEASED: what was reserved is free. NOTHING_HELD: this attempt owns no entry, and what it announced is gone.
    ON_NODE: the pod is there; its publication confirms it. CONFIRMED: it has done so already. UNKNOWN: the API server
    did not tell. CHANGING: the pod or the entry changed time and again."""

    RELEASED = "released"
    NOTHING_HELD = "nothing-held"
    ON_NODE = "on-node"
    CONFIRMED = "confirmed"
    UNKNOWN = "unknown"
    CHANGING = "changing"

    @property
    def is_over(self) -> bool:
        """Whether the reservation is gone."""
        return self in (ExpiryOutcome.RELEASED, ExpiryOutcome.NOTHING_HELD, ExpiryOutcome.CONFIRMED)


@dataclass(frozen=True, slots=True)
class Expired:
    """How it ended; `detail`: the API server's words, where it did not tell."""

    outcome: ExpiryOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unbindable:
    """No Binding of the pod that was sent before now can succeed any more."""


@dataclass(frozen=True, slots=True)
class On:
    """The pod is on this node for good."""

    node: str


class Expiry:
    """For one thread and one leadership. May raise TableUnavailable and Outranked: nothing is lost by it."""

    def __init__(self, table: LedgerTable, pods: ReservedPods, epoch: int) -> None:
        self._table = table
        self._ledger = Ledger(table)
        self._pods = pods
        self._epoch = epoch

    def expire(self, reservation: OpenReservation) -> Expired:
        """Look after a reservation that is old enough for its bind, and every call of it, to have ended."""
        entry = self._entry(reservation)
        if entry is None or entry.attempt != reservation.attempt:
            # What there is has an open reservation of its own.
            return self._close(reservation, ExpiryOutcome.NOTHING_HELD)
        if entry.state is EntryState.BOUND:
            return self._close(reservation, ExpiryOutcome.CONFIRMED)
        match self.make_unbindable(reservation.pod):
            case Expired() as why:
                return why
            case On(node=node) if node == reservation.node:
                return Expired(ExpiryOutcome.ON_NODE)
            case _:
                return self._release(reservation, entry)

    def release(self, reservation: OpenReservation) -> Expired:
        """Give it back without a question: the pod is published, and holds nothing that is counted."""
        entry = self._entry(reservation)
        if entry is None or entry.attempt != reservation.attempt:
            return self._close(reservation, ExpiryOutcome.NOTHING_HELD)
        return self._release(reservation, entry)

    def close(self, reservation: OpenReservation) -> None:
        """Delete what this attempt announced, unless its entry is there and not confirmed: the pod may have ended since
        it was published there, and then nobody else would find the entry."""
        entry = self._entry(reservation)
        if entry is None or entry.attempt != reservation.attempt or entry.state is EntryState.BOUND:
            self.forget(reservation)

    def forget(self, reservation: OpenReservation) -> None:
        """Delete what this attempt announced: it owns no entry, or one that is confirmed."""
        self._table.delete_open(reservation.pod.uid, reservation.node, reservation.attempt)

    def _entry(self, reservation: OpenReservation) -> Entry | None:
        """Before the pod is read: what is released is what stood there before."""
        ledger = self._table.node(reservation.node)
        if ledger is None:
            return None
        if ledger.epoch > self._epoch:
            raise Outranked(reservation.node)
        return ledger.entries.get(reservation.pod.uid)

    def make_unbindable(self, pod: PodKey) -> Unbindable | On | Expired:
        """See to it that no Binding that was sent before now can succeed any more; or say why it may have, or may."""
        for _ in range(TOUCHES):
            answer: Found | NotFound | Unknown | Touched | Changed = self._pods.find(pod)
            if isinstance(answer, Found) and answer.uid == pod.uid and not answer.finished:
                if answer.node:
                    return On(answer.node)
                answer = self._pods.touch(pod, answer.resource_version)
            match answer:
                case Unknown(cause=cause):
                    return Expired(ExpiryOutcome.UNKNOWN, cause)
                case Changed():
                    pass
                case Found() | NotFound() | Touched():  # another pod of that name, or ended; gone; touched
                    return Unbindable()
        return Expired(ExpiryOutcome.CHANGING)

    def _release(self, reservation: OpenReservation, entry: Entry) -> Expired:
        result = self._ledger.release(reservation.node, entry, epoch=self._epoch)
        if result.outcome is LedgerOutcome.STALE_EPOCH:
            raise Outranked(reservation.node)
        if result.outcome is LedgerOutcome.CONTENDED:
            return Expired(ExpiryOutcome.CHANGING)
        # Last, so that every entry has an open reservation: the next watcher finds it by that. ENTRY_DIFFERS: the entry
        # belongs to another attempt, which has an open reservation of its own.
        done = result.outcome is not LedgerOutcome.ENTRY_DIFFERS
        return self._close(reservation, ExpiryOutcome.RELEASED if done else ExpiryOutcome.NOTHING_HELD)

    def _close(self, reservation: OpenReservation, outcome: ExpiryOutcome) -> Expired:
        self.forget(reservation)
        return Expired(outcome)
