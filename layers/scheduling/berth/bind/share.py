"""Reserves a pod's counted resources on one node, for bind.

An attempt first writes its open reservation, then its entry in the node's ledger. So every entry has an open
reservation, and one query finds all open reservations. If another bind was faster, the attempt chooses again.

Cost of a reservation without contention: one PutItem for the open reservation and one conditional UpdateItem for the
entry. A resource with devices costs one additional consistent GetItem, to choose the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, Shares
from berth.ledger.nodes.ledger import DeviceChoice, Ledger, LedgerOutcome
from berth.ledger.nodes.table import LedgerTable
from berth.pods import Binding
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey

T = TypeVar("T")


@dataclass(slots=True)
class TableCalls:
    """Retries calls to a table. seconds: the longest duration of one call; a call does not start with less time left.

    repeated: the first call failed and was retried, so the table may still execute the first call.
    """

    remaining: Remaining
    seconds: float
    repeated: bool = False

    def with_retry(self, call: Callable[[], T]) -> T:
        """Make the call, and repeat it once if it fails: a connection may have died while the environment was frozen.

        Use it for idempotent operations. Raises DeadlineExceeded and TableUnavailable.
        """
        self._check()
        try:
            return call()
        except TableUnavailable:
            self.repeated = True
            self._check()
            return call()

    def _check(self) -> None:
        if self.remaining() < self.seconds:
            raise DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Reservation:
    """A pod's share in the node's ledger. The entry belongs to this attempt to bind the pod.

    annotations: for the Binding. is_first_attempt: earlier attempts did not own the entry, so an earlier Binding cannot
    arrive. shares: the amounts that this attempt needs, by pool. has_surplus: the entry holds more than these shares,
    for a Binding of an earlier attempt.
    """

    binding: Binding
    attempt: str
    annotations: Mapping[str, str]
    is_first_attempt: bool
    shares: Mapping[str, int]
    has_surplus: bool = False


Remaining = Callable[[], float]
"""Returns the seconds left until the deadline."""


TRIES = 10
"""Maximum number of tries, if an attempt loses races for a device or against another bind of the same pod."""

NO_LEDGER = BindResult(BindOutcome.NO_LEDGER, "the node's ledger of counted resources is not ready")
CONTENDED = BindResult(BindOutcome.CONTENDED, "the node's ledger of counted resources is contended")


class Attempt:
    """One attempt to reserve, for one call of `Reservations.reserve`."""

    def __init__(
        self,
        ledger: Ledger,
        calls: TableCalls,
        binding: Binding,
        demands: Sequence[Demand],
        counting: Counting,
        entry: Entry,
    ) -> None:
        """entry: the attempt's, still without shares."""
        self._ledger = ledger
        self._calls = calls
        self._binding = binding
        self._counting = counting
        self._choice = DeviceChoice(counting, demands, binding.pod_uid)
        self._entry = entry

    def reserve(self) -> Reservation | BindResult:
        """Reserve the shares. After TableUnavailable or DeadlineExceeded the entry may or may not have been written."""
        shares = self._choice.without_devices()
        ledger: NodeLedger | None = None
        if shares is None:
            ledger = self._calls.with_retry(lambda: self._ledger.table.node(self._binding.node))
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
        announced, node, uid = shares, self._binding.node, self._binding.pod_uid
        for lost_races in range(1, TRIES + 1):
            earlier = None if ledger is None else ledger.entries.get(uid)
            mine = replace(self._entry, shares=shares)
            result = self._calls.with_retry(
                partial(self._ledger.reserve, node, mine)
                if earlier is None
                else partial(self._ledger.take_over, node, earlier, mine)
            )
            if result.done:
                if shares != announced:
                    self._put_open(shares)
                written = result.entry(uid)
                return Reservation(
                    self._binding,
                    mine.attempt,
                    self._counting.annotations(shares),
                    is_first_attempt=earlier is None,
                    shares=shares,
                    has_surplus=written is not None and dict(written.shares) != dict(shares),
                )
            if result.ledger is None or result.outcome is LedgerOutcome.NO_LEDGER:
                return NO_LEDGER
            ledger = result.ledger
            entry = ledger.entries.get(uid)
            if entry is not None and entry.state is EntryState.BOUND:
                # The watcher has confirmed the pod there, after bind read the pod.
                break
            chosen = self._choice.on(ledger, lost_races)
            if isinstance(chosen, Insufficient):
                return _insufficient(chosen)
            shares = chosen
        return CONTENDED

    def _put_open(self, shares: Shares) -> None:
        reservation = replace(self._entry, shares=shares).open_on(self._binding.node)
        self._calls.with_retry(lambda: self._ledger.table.put_open(reservation))

    def _delete_open(self) -> None:
        """Delete the open reservation, because this attempt does not own an entry. After a retry do not delete it: the
        first call may still write an entry."""
        if not self._calls.repeated:
            with suppress(TableUnavailable, DeadlineExceeded):
                uid, node, attempt = self._binding.pod_uid, self._binding.node, self._entry.attempt
                self._calls.with_retry(lambda: self._ledger.table.delete_open(uid, node, attempt))


def _insufficient(chosen: Insufficient) -> BindResult:
    return BindResult(BindOutcome.INSUFFICIENT, chosen.text)


DEADLINE_PASSED = "the deadline was over before the ledger of counted resources was written"


class Reservations:
    """Reserves and releases counted resources in the ledger. Methods do not raise if the table cannot be reached.
    Thread-safe."""

    def __init__(
        self, table: LedgerTable, new_id: Callable[[], str], wall: Callable[[], float], call_seconds: float
    ) -> None:
        """call_seconds: the longest duration of one call to the table; a call does not start with less time left."""
        self._table = table
        self._ledger = Ledger(table)
        self._new_id = new_id
        self._wall = wall
        self._call_seconds = call_seconds

    def reserve(
        self, binding: Binding, demands: Sequence[Demand], counting: Counting, remaining: Remaining
    ) -> Reservation | BindResult:
        """Reserve as a new attempt, and take over the entry of an earlier attempt.

        BindResult: the pod has no reservation of this attempt, or the table did not confirm it.
        """
        calls = TableCalls(remaining, self._call_seconds)
        pod = PodKey(binding.namespace, binding.pod_name, binding.pod_uid)
        entry = Entry(pod, EntryState.RESERVED, self._new_id(), {}, self._wall())
        try:
            return Attempt(self._ledger, calls, binding, demands, counting, entry).reserve()
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))
        except DeadlineExceeded:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, DEADLINE_PASSED)

    def release_surplus(self, reservation: Reservation, remaining: Remaining) -> None:
        """Reduce the entry to the shares of this attempt, if the attempt still owns the entry. If the table does not
        confirm the write, the entry keeps the surplus until the pod has ended. The attempt's open reservation stays
        until the watcher has confirmed the pod.

        Call this only after the API server has confirmed the Binding of this attempt: the pod is on its node with these
        shares, which no longer change.
        """
        calls, binding = TableCalls(remaining, self._call_seconds), reservation.binding
        try:
            ledger = calls.with_retry(lambda: self._table.node(binding.node))
            seen = None if ledger is None else ledger.entries.get(binding.pod_uid)
            if ledger is None or seen is None or not _is_reserved_by(reservation.attempt, seen):
                return
            entry = replace(seen, attempt=self._new_id(), shares=reservation.shares, since=self._wall())
            # Put this first, so that every entry has an open reservation.
            calls.with_retry(lambda: self._table.put_open(entry.open_on(binding.node)))
            calls.with_retry(lambda: self._ledger.shrink(ledger, seen, entry))
        except (TableUnavailable, DeadlineExceeded):
            return

    def release(self, binding: Binding, remaining: Remaining, attempt: str | None = None) -> None:
        """Release the reservation for this pod on this node if this attempt owns the entry; None: of any attempt. If
        the table does not answer, the entry expires.

        Call this only after the attempt's Binding was rejected, and only if `is_first_attempt`; for any attempt, only
        if the pod's Bindings can no longer succeed there.
        """
        calls = TableCalls(remaining, self._call_seconds)
        try:
            ledger = calls.with_retry(lambda: self._table.node(binding.node))
            entry = None if ledger is None else ledger.entries.get(binding.pod_uid)
            if entry is None or not _is_reserved_by(attempt or entry.attempt, entry):
                return
            result = calls.with_retry(lambda: self._ledger.release(binding.node, entry, ledger=ledger))
            # Delete this last, so that every entry has an open reservation.
            if result.done:
                calls.with_retry(lambda: self._table.delete_open(binding.pod_uid, binding.node, entry.attempt))
        except (TableUnavailable, DeadlineExceeded):
            return


def _is_reserved_by(attempt: str, entry: Entry) -> bool:
    return entry.state is EntryState.RESERVED and entry.attempt == attempt
