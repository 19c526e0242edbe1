"""One attempt of bind to hold what a pod asks for: it announces, reserves, and tries again where others were faster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from berth.extender.outcomes import BindOutcome
from berth.extender.ports import Binding, Held, NotHeld
from berth.reservations.bind.device_choice import DeviceChoice
from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, OpenReservation, PodKey, Shares
from berth.reservations.ledger.ledger import Ledger, LedgerOutcome, LedgerResult
from berth.reservations.ledger.table import TableCalls, TableUnavailable, TooLate
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand

TRIES = 10
"""Races for one device, or with another bind of the same pod, that a reservation loses before it gives up."""

NO_LEDGER = "the node's ledger of counted resources is not ready"
CONTENDED = "the node's ledger of counted resources is contended"


class Attempt:
    """For one call of `hold`."""

    def __init__(
        self,
        ledger: Ledger,
        calls: TableCalls,
        binding: Binding,
        demands: Sequence[Demand],
        counting: Counting,
        *,
        attempt: str,
        since: float,
    ) -> None:
        """attempt: an id that no attempt ever had. since: the time, in seconds since the epoch."""
        self._ledger = ledger
        self._calls = calls
        self._binding = binding
        self._node = binding.node
        self._pod = PodKey(binding.namespace, binding.pod_name, binding.pod_uid)
        self._attempt = attempt
        self._since = since
        self._counting = counting
        self._choice = DeviceChoice(counting, demands, binding.pod_uid)

    def hold(self) -> Held | NotHeld:
        """Raises TableUnavailable and TooLate: then it is open whether anything is held."""
        shares = self._choice.without_devices()
        seen: NodeLedger | None = None
        if shares is None:
            seen = self._calls.twice(lambda: self._ledger.table.node(self._node))
            if seen is None or seen.avail is None:
                return NotHeld(BindOutcome.NO_LEDGER, NO_LEDGER)
            chosen = self._choice.on(seen, 0)
            if isinstance(chosen, Insufficient):
                return NotHeld(BindOutcome.INSUFFICIENT, chosen.text)
            shares = chosen
        # Before the entry, so that no entry is without a trace that is found in one query.
        self._put_open(shares)
        return self._hold(shares, seen)

    def _hold(self, shares: Shares, seen: NodeLedger | None) -> Held | NotHeld:
        announced = shares
        for tried in range(1, TRIES + 1):
            there = None if seen is None else seen.entries.get(self._pod.uid)
            result = self._reserve(shares) if there is None else self._take_over(there, shares)
            if result.done:
                if shares != announced:
                    self._put_open(shares)
                return Held(self._binding, self._attempt, self._counting.annotations(shares), there is None)
            if result.ledger is None or result.outcome is LedgerOutcome.NO_LEDGER:
                return self._given_up(NotHeld(BindOutcome.NO_LEDGER, NO_LEDGER))
            seen = result.ledger
            entry = seen.entries.get(self._pod.uid)
            if entry is not None and entry.state is EntryState.BOUND:
                # The watcher saw it there: who asked has read the pod before.
                break
            chosen = self._choice.on(seen, tried)
            if isinstance(chosen, Insufficient):
                return self._given_up(NotHeld(BindOutcome.INSUFFICIENT, chosen.text))
            shares = chosen
        return self._given_up(NotHeld(BindOutcome.CONTENDED, CONTENDED))

    def _reserve(self, shares: Shares) -> LedgerResult:
        return self._calls.twice(lambda: self._ledger.reserve(self._node, self._entry(shares)))

    def _take_over(self, seen: Entry, shares: Shares) -> LedgerResult:
        return self._calls.twice(lambda: self._ledger.take_over(self._node, seen, self._entry(shares)))

    def _entry(self, shares: Shares) -> Entry:
        return Entry(self._pod, EntryState.RESERVED, self._attempt, shares, self._since)

    def _put_open(self, shares: Shares) -> None:
        reservation = OpenReservation(self._pod, self._node, self._attempt, shares, self._since)
        self._calls.twice(lambda: self._ledger.table.put_open(reservation))

    def _given_up(self, why: NotHeld) -> NotHeld:
        """No entry is this attempt's, and none will be; unless a write that went unanswered is still on its way."""
        if not self._calls.repeated:
            with suppress(TableUnavailable, TooLate):
                self._calls.twice(lambda: self._ledger.table.delete_open(self._pod.uid, self._node, self._attempt))
        return why
