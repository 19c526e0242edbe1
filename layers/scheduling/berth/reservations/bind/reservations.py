"""The ledger as bind uses it.

Cost of a reservation where nobody is in the way: the open reservation, and one conditional write; with devices one
consistent read before, to choose one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from berth.extender.outcomes import BindOutcome
from berth.extender.ports import Binding, Held, NotHeld, Remaining, Reservations
from berth.reservations.bind.attempt import Attempt
from berth.reservations.ledger.entry import EntryState
from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.table import LedgerTable, TableCalls, TableUnavailable, TooLate
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand

TOO_LATE = "the deadline was over before the ledger of counted resources was written"


class LedgerReservations(Reservations):
    """Safe to share between threads."""

    def __init__(
        self, table: LedgerTable, new_id: Callable[[], str], wall: Callable[[], float], call_seconds: float
    ) -> None:
        """`call_seconds`: the longest that one call of the table takes; none begins with less time left."""
        self._table = table
        self._ledger = Ledger(table)
        self._new_id = new_id
        self._wall = wall
        self._call_seconds = call_seconds

    def hold(
        self, binding: Binding, demands: Sequence[Demand], counting: Counting, remaining: Remaining
    ) -> Held | NotHeld:
        calls = TableCalls(remaining, self._call_seconds)
        attempt = Attempt(self._ledger, calls, binding, demands, counting, attempt=self._new_id(), since=self._wall())
        try:
            return attempt.hold()
        except TableUnavailable as error:
            return NotHeld(BindOutcome.LEDGER_UNAVAILABLE, str(error))
        except TooLate:
            return NotHeld(BindOutcome.LEDGER_UNAVAILABLE, TOO_LATE)

    def release(self, held: Held, remaining: Remaining) -> None:
        self._give_back(held.binding, remaining, held.attempt)

    def forget(self, binding: Binding, remaining: Remaining) -> None:
        self._give_back(binding, remaining)

    def _give_back(self, binding: Binding, remaining: Remaining, attempt: str | None = None) -> None:
        """Of this attempt, or of any. What is not reached expires."""
        calls = TableCalls(remaining, self._call_seconds)
        try:
            found = calls.twice(lambda: self._table.node(binding.node))
            entry = None if found is None else found.entries.get(binding.pod_uid)
            if entry is None or entry.state is not EntryState.RESERVED or attempt not in (None, entry.attempt):
                return
            result = calls.twice(lambda: self._ledger.release(binding.node, entry, ledger=found))
            # Last, so that no entry is without an open reservation.
            if result.done:
                calls.twice(lambda: self._table.delete_open(binding.pod_uid, binding.node, entry.attempt))
        except (TableUnavailable, TooLate):
            return
