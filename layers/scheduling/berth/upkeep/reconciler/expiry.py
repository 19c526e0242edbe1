"""Expiry: releases reservations whose binds never completed.

Guarantees: released amounts can be reserved for another pod, because Bindings of the first pod can no longer succeed.
Either the pod is gone, has ended, or is on another node for good. Or it was found unbound and then touched: every
Binding that was sent before now fails by its resourceVersion precondition. The entry is released only if it still
belongs to the attempt that was read before the touch. A later attempt reads the touched pod and writes itself into the
entry before it sends its Binding. So either the release fails, or the later attempt does not find an entry and reserves
again.

Not guaranteed: that a reservation expires at a certain age. Age only decides when expiry begins; it does not prove
anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome
from berth.ledger.nodes.table import LedgerTable
from berth.pods import FoundPod, PodChanged, PodNotFound, PodTouched, ReservedPods, Unanswered
from berth.scheduling.managed_resources.pools import is_floating
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.node_reconciliation import StaleEpoch, stale_epoch

MAX_TOUCHES = 3


class ExpiryOutcome(StrEnum):
    """The outcome of an expiry.

    RELEASED: the reserved amounts are available again. NO_ENTRY: the attempt does not own an entry, and its open
    reservation is deleted. ON_NODE: the pod is on a node, and its publication will confirm the reservation. CONFIRMED:
    the publication has confirmed the reservation. CLUSTER_UNAVAILABLE: the API server did not answer. CONTENDED: the
    pod or the entry changed at every try.
    """

    RELEASED = "released"
    NO_ENTRY = "no-entry"
    ON_NODE = "on-node"
    CONFIRMED = "confirmed"
    CLUSTER_UNAVAILABLE = "cluster-unavailable"
    CONTENDED = "contended"

    @property
    def is_final(self) -> bool:
        """Return whether the open reservation is deleted."""
        return self in (ExpiryOutcome.RELEASED, ExpiryOutcome.NO_ENTRY, ExpiryOutcome.CONFIRMED)


@dataclass(frozen=True, slots=True)
class ExpiryResult:
    """The result of an expiry. detail: the cause if the API server did not answer. node: the node of a bound pod."""

    outcome: ExpiryOutcome
    detail: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class OnNode:
    """The node of a pod that is bound; a pod never changes its node."""

    node: str


class Expiry:
    """Expires reservations in one leadership's thread. Methods may raise TableUnavailable or StaleEpoch, and may be
    repeated."""

    def __init__(self, table: LedgerTable, pods: ReservedPods, epoch: int) -> None:
        self._table = table
        self._ledger = Ledger(table)
        self._pods = pods
        self._epoch = epoch

    def expire(self, reservation: OpenReservation) -> ExpiryResult:
        """Release the reservation, unless its pod is on the node."""
        # Read the entries before the pod: only the entries that existed before the touch may be released.
        entries = self._entries(reservation)
        if not entries:
            # The entries of another attempt have an open reservation of their own.
            return self.delete_open(reservation, ExpiryOutcome.NO_ENTRY)
        reserved = {owner: entry for owner, entry in entries.items() if entry.state is EntryState.RESERVED}
        if not reserved:
            return self.delete_open(reservation, ExpiryOutcome.CONFIRMED)
        match self.invalidate_bindings(reservation.pod):
            case ExpiryResult() as result:
                return result
            case OnNode(node=node):
                # A floating pool may count the pod on any node: the pod's publication confirms or releases the entry.
                kept = {each for each in reserved if each == node or is_floating(each)}
                others = {owner: entry for owner, entry in reserved.items() if owner not in kept}
                result = self._release(reservation, others, keeps_open=bool(kept))
                is_released = result.outcome in (ExpiryOutcome.RELEASED, ExpiryOutcome.NO_ENTRY)
                return ExpiryResult(ExpiryOutcome.ON_NODE, node=node) if kept and is_released else result
            case _:
                return self._release(reservation, reserved)

    def close(self, reservation: OpenReservation) -> None:
        """Delete the open reservation, unless an entry of its attempt is still RESERVED. The pod may have ended after
        it was published on the node. Then the entry can be found only by the open reservation."""
        if all(entry.state is EntryState.BOUND for entry in self._entries(reservation).values()):
            self.delete_open(reservation, ExpiryOutcome.CONFIRMED)

    def release_elsewhere(self, reservation: OpenReservation, owner: str) -> bool:
        """Release the attempt's entries at all other owners, and delete its open reservation. Call this after
        `invalidate_bindings`. Return False if other writes were faster at every try."""
        reserved = {
            each: entry
            for each, entry in self._entries(reservation).items()
            if each != owner and entry.state is EntryState.RESERVED
        }
        return self._release(reservation, reserved).outcome is not ExpiryOutcome.CONTENDED

    def delete_open(self, reservation: OpenReservation, outcome: ExpiryOutcome) -> ExpiryResult:
        """Delete the open reservation of an attempt that does not own an entry, or whose entry is confirmed."""
        self._table.delete_open(reservation.pod.uid, reservation.node, reservation.attempt)
        return ExpiryResult(outcome)

    def invalidate_bindings(self, pod: PodKey) -> OnNode | ExpiryResult | None:
        """Make every earlier Binding of the pod fail, and return None. OnNode: the pod is bound already. ExpiryResult:
        the state of the pod is unknown."""
        for _ in range(MAX_TOUCHES):
            answer: FoundPod | PodNotFound | Unanswered | PodTouched | PodChanged = self._pods.find(pod)
            if isinstance(answer, FoundPod) and answer.uid == pod.uid and not answer.finished:
                if answer.node:
                    return OnNode(answer.node)
                answer = self._pods.touch(pod, answer.resource_version)
            match answer:
                case Unanswered(cause=cause):
                    return ExpiryResult(ExpiryOutcome.CLUSTER_UNAVAILABLE, cause)
                case PodChanged():
                    pass
                case FoundPod() | PodNotFound() | PodTouched():  # FoundPod: the pod has ended, or has another UID
                    return None
        return ExpiryResult(ExpiryOutcome.CONTENDED)

    def _entries(self, reservation: OpenReservation) -> Mapping[str, Entry]:
        """Return the entries of the reservation's attempt, by owner."""
        found: dict[str, Entry] = {}
        for owner in sorted(reservation.owners):
            ledger = self._table.node(owner)
            if ledger is not None and ledger.epoch > self._epoch:
                raise StaleEpoch(owner, ledger.epoch)
            entry = None if ledger is None else ledger.entries.get(reservation.pod.uid)
            if entry is not None and entry.attempt == reservation.attempt:
                found[owner] = entry
        return found

    def _release(
        self, reservation: OpenReservation, entries: Mapping[str, Entry], *, keeps_open: bool = False
    ) -> ExpiryResult:
        outcome = ExpiryOutcome.NO_ENTRY
        for owner, entry in entries.items():
            result = self._ledger.release(owner, entry, epoch=self._epoch)
            if result.outcome is LedgerOutcome.STALE_EPOCH:
                raise stale_epoch(result)
            if result.outcome is LedgerOutcome.CONTENDED:
                return ExpiryResult(ExpiryOutcome.CONTENDED)
            # ENTRY_DIFFERS: the entry belongs to another attempt, which has its own open reservation.
            if result.outcome is not LedgerOutcome.ENTRY_DIFFERS:
                outcome = ExpiryOutcome.RELEASED
        # Delete the open reservation last, because the next watcher finds the entry by it.
        return ExpiryResult(outcome) if keeps_open else self.delete_open(reservation, outcome)


ReservationKey = tuple[str, str, str]
"""The pod's UID, the node or the owner of an entry, and the attempt."""


class OpenReservations:
    """Open reservations, and reserved entries whose open reservation is missing in the table; for one thread."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._first_seen: dict[ReservationKey, float] = {}
        """The time at which a reservation was first seen, in monotonic seconds."""
        self._found_on_node: dict[ReservationKey, float] = {}
        """The time at which the API server first showed the pod on the node, in seconds since the epoch."""
        self._entries_only: dict[ReservationKey, OpenReservation] = {}
        """Reserved entries without an open reservation in the table."""

    def refresh(self, found: Iterable[OpenReservation], read_at: float) -> Mapping[ReservationKey, OpenReservation]:
        """Return `found` and the entries without an open reservation. read_at: the monotonic time of the read."""
        open_now = {key_of(each): each for each in found}
        known_entries = {(each.pod.uid, owner, each.attempt) for each in open_now.values() for owner in each.owners}
        for key in known_entries & self._entries_only.keys():
            del self._entries_only[key]
        known = open_now | self._entries_only
        self._first_seen = {key: self._first_seen.get(key, read_at) for key in known}
        self._found_on_node = {key: at for key, at in self._found_on_node.items() if key in known}
        return known

    def add_entry(self, owner: str, entry: Entry) -> None:
        """Add a reserved entry of this owner, whose open reservation may be missing in the table."""
        reservation = entry.open_on(owner)
        self._entries_only[key_of(reservation)] = reservation
        self._first_seen.setdefault(key_of(reservation), self._monotonic())

    def mark_on_node(self, reservation: OpenReservation) -> None:
        self._found_on_node.setdefault(key_of(reservation), self._wall())

    def remove(self, reservation: OpenReservation) -> None:
        self._entries_only.pop(key_of(reservation), None)

    def age(self, reservation: OpenReservation) -> float:
        """Return the age in seconds, since the reservation's time or since it was first seen, whichever is greater."""
        age = self._wall() - reservation.since
        return max(age, self._monotonic() - self._first_seen[key_of(reservation)])

    def was_on_node_before(self, reservation: OpenReservation, observed_at: float) -> bool:
        """Return whether the API server showed the pod on the node before `observed_at`, in seconds since the epoch."""
        return self._found_on_node.get(key_of(reservation), math.inf) < observed_at


def key_of(reservation: OpenReservation) -> ReservationKey:
    return reservation.pod.uid, reservation.node, reservation.attempt
