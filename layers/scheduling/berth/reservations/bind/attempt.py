"""One attempt to reserve what a pod requests on one node.

The attempt first writes its open reservation, then its entry in the node's ledger. So every entry has an open
reservation, and one query finds all of them. When another bind was faster, the attempt chooses again and retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import Binding, Reservation
from berth.reservations.bind.device_choice import DeviceChoice
from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, OpenReservation, PodKey, Shares
from berth.reservations.ledger.ledger import Ledger, LedgerOutcome, LedgerResult
from berth.reservations.ledger.table import DeadlineExceeded, TableCalls, TableUnavailable
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand

TRIES = 10
"""How often an attempt may lose a race for a device, or against another bind of the same pod."""

NO_LEDGER = BindResult(BindOutcome.NO_LEDGER, "the node's ledger of counted resources is not ready")
CONTENDED = BindResult(BindOutcome.CONTENDED, "the node's ledger of counted resources is contended")


class Attempt:
    """For one call of `reserve`."""

    def __init__(
        self,
        ledger: Ledger,
        calls: TableCalls,
        binding: Binding,
        demands: Sequence[Demand],
        counting: Counting,
        *,
        attempt_id: str,
        since: float,
    ) -> None:
        """attempt_id: unique among all attempts. since: now, in seconds since the epoch."""
        self._ledger = ledger
        self._calls = calls
        self._binding = binding
        self._node = binding.node
        self._pod = PodKey(binding.namespace, binding.pod_name, binding.pod_uid)
        self._attempt_id = attempt_id
        self._since = since
        self._counting = counting
        self._choice = DeviceChoice(counting, demands, binding.pod_uid)

    def reserve(self) -> Reservation | BindResult:
        """Raises TableUnavailable and DeadlineExceeded: then the entry may or may not have been written."""
        shares = self._choice.without_devices()
        ledger: NodeLedger | None = None
        if shares is None:
            ledger = self._calls.with_retry(lambda: self._ledger.table.node(self._node))
            if ledger is None or ledger.avail is None:
                return NO_LEDGER
            chosen = self._choice.on(ledger, 0)
            if isinstance(chosen, Insufficient):
                return _insufficient(chosen)
            shares = chosen
        self._put_open(shares)
        result = self._write_entry(shares, ledger)
        if isinstance(result, BindResult):
            self._delete_open()
        return result

    def _write_entry(self, shares: Shares, ledger: NodeLedger | None) -> Reservation | BindResult:
        announced = shares
        for lost_races in range(1, TRIES + 1):
            earlier = None if ledger is None else ledger.entries.get(self._pod.uid)
            result = self._reserve(shares) if earlier is None else self._take_over(earlier, shares)
            if result.done:
                if shares != announced:
                    self._put_open(shares)
                written = result.entry(self._pod.uid)
                return Reservation(
                    self._binding,
                    self._attempt_id,
                    self._counting.annotations(shares),
                    is_first_attempt=earlier is None,
                    shares=shares,
                    has_surplus=written is not None and dict(written.shares) != dict(shares),
                )
            if result.ledger is None or result.outcome is LedgerOutcome.NO_LEDGER:
                return NO_LEDGER
            ledger = result.ledger
            entry = ledger.entries.get(self._pod.uid)
            if entry is not None and entry.state is EntryState.BOUND:
                # The watcher has confirmed the pod there, after bind read the pod.
                break
            chosen = self._choice.on(ledger, lost_races)
            if isinstance(chosen, Insufficient):
                return _insufficient(chosen)
            shares = chosen
        return CONTENDED

    def _reserve(self, shares: Shares) -> LedgerResult:
        return self._calls.with_retry(lambda: self._ledger.reserve(self._node, self._entry(shares)))

    def _take_over(self, earlier: Entry, shares: Shares) -> LedgerResult:
        return self._calls.with_retry(lambda: self._ledger.take_over(self._node, earlier, self._entry(shares)))

    def _entry(self, shares: Shares) -> Entry:
        return Entry(self._pod, EntryState.RESERVED, self._attempt_id, shares, self._since)

    def _put_open(self, shares: Shares) -> None:
        reservation = OpenReservation(self._pod, self._node, self._attempt_id, shares, self._since)
        self._calls.with_retry(lambda: self._ledger.table.put_open(reservation))

    def _delete_open(self) -> None:
        """This attempt owns no entry. After a repeated call it stays: the first one may still write the entry."""
        if not self._calls.repeated:
            with suppress(TableUnavailable, DeadlineExceeded):
                self._calls.with_retry(
                    lambda: self._ledger.table.delete_open(self._pod.uid, self._node, self._attempt_id)
                )


def _insufficient(chosen: Insufficient) -> BindResult:
    return BindResult(BindOutcome.INSUFFICIENT, chosen.text)
