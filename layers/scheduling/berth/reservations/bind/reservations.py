"""The ledger of counted resources, as bind uses it.

Cost of a reservation without contention: one PutItem for the open reservation and one conditional UpdateItem for the
entry. A resource with devices costs one consistent GetItem more, to choose the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import Binding, Remaining, Reservation, Reservations
from berth.reservations.bind.attempt import Attempt
from berth.reservations.ledger.entry import Entry, EntryState, OpenReservation
from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.table import DeadlineExceeded, LedgerTable, TableCalls, TableUnavailable
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand

DEADLINE_PASSED = "the deadline was over before the ledger of counted resources was written"


class LedgerReservations(Reservations):
    """Safe to share between threads."""

    def __init__(
        self, table: LedgerTable, new_id: Callable[[], str], wall: Callable[[], float], call_seconds: float
    ) -> None:
        """call_seconds: the longest that one call of the table takes; no call begins with less time left."""
        self._table = table
        self._ledger = Ledger(table)
        self._new_id = new_id
        self._wall = wall
        self._call_seconds = call_seconds

    def reserve(
        self, binding: Binding, demands: Sequence[Demand], counting: Counting, remaining: Remaining
    ) -> Reservation | BindResult:
        calls = TableCalls(remaining, self._call_seconds)
        attempt = Attempt(
            self._ledger, calls, binding, demands, counting, attempt_id=self._new_id(), since=self._wall()
        )
        try:
            return attempt.reserve()
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))
        except DeadlineExceeded:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, DEADLINE_PASSED)

    def release(self, reservation: Reservation, remaining: Remaining) -> None:
        self._release(reservation.binding, remaining, reservation.attempt)

    def release_surplus(self, reservation: Reservation, remaining: Remaining) -> None:
        """The open reservation of the attempt stays: the watcher deletes it when it has confirmed the pod."""
        calls, binding = TableCalls(remaining, self._call_seconds), reservation.binding
        try:
            ledger = calls.with_retry(lambda: self._table.node(binding.node))
            seen = None if ledger is None else ledger.entries.get(binding.pod_uid)
            if ledger is None or seen is None or not _is_reserved_by(reservation.attempt, seen):
                return
            entry = replace(seen, attempt=self._new_id(), shares=reservation.shares, since=self._wall())
            own = OpenReservation(entry.pod, binding.node, entry.attempt, entry.shares, entry.since)
            # First, so that every entry has an open reservation.
            calls.with_retry(lambda: self._table.put_open(own))
            calls.with_retry(lambda: self._ledger.shrink(ledger, seen, entry))
        except (TableUnavailable, DeadlineExceeded):
            return

    def release_pod(self, binding: Binding, remaining: Remaining) -> None:
        self._release(binding, remaining)

    def _release(self, binding: Binding, remaining: Remaining, attempt: str | None = None) -> None:
        """attempt: None releases the entry of any attempt. Where the table does not answer, the entry expires."""
        calls = TableCalls(remaining, self._call_seconds)
        try:
            ledger = calls.with_retry(lambda: self._table.node(binding.node))
            entry = None if ledger is None else ledger.entries.get(binding.pod_uid)
            if entry is None or not _is_reserved_by(attempt or entry.attempt, entry):
                return
            result = calls.with_retry(lambda: self._ledger.release(binding.node, entry, ledger=ledger))
            # Last, so that every entry has an open reservation.
            if result.done:
                calls.with_retry(lambda: self._table.delete_open(binding.pod_uid, binding.node, entry.attempt))
        except (TableUnavailable, DeadlineExceeded):
            return


def _is_reserved_by(attempt: str, entry: Entry) -> bool:
    return entry.state is EntryState.RESERVED and entry.attempt == attempt
