"""Reserves a pod's counted resources on one node and in floating pools, for bind.

An attempt writes its open reservation before its entry, or in one transaction with its entries in several ledgers. So
every reserved entry has an open reservation, and one query finds all open reservations. If another bind was faster, the
attempt chooses again.

Cost of a reservation without contention: one PutItem for the open reservation and one conditional UpdateItem for the
entry; a transaction for both would double their units. With several ledgers it is one transaction. A resource with
devices costs one additional consistent GetItem, to choose the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome, ShareChoice
from berth.ledger.nodes.table import LedgerTable
from berth.pods import Binding
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import Shares, by_owner
from berth.scheduling.objects.pod import PodKey

T = TypeVar("T")


@dataclass(slots=True)
class TableCalls:
    """Retries calls to a table. seconds: the longest duration of one call; a call does not start with less time left.
    repeated: whether a call failed and was retried, so that the table may still execute the first call."""

    remaining: Remaining
    seconds: float
    repeated: bool = False

    def with_retry(self, call: Callable[[], T]) -> T:
        """Make the call, and repeat it once if it fails: a connection may have died while the environment was frozen.
        Use it for idempotent operations. Raises DeadlineExceeded and TableUnavailable."""
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
    """A pod's shares in the ledgers. The entries belong to this attempt to bind the pod.

    annotations: the Binding's annotations. is_first_attempt: whether no earlier attempt owned an entry, so that no
    earlier Binding can arrive. shares: the amounts that this attempt needs, by pool. has_surplus: whether an entry
    holds more than these shares, for a Binding of an earlier attempt.
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

NO_LEDGER = BindResult(BindOutcome.NO_LEDGER, "the ledger of counted resources is not ready")
CONTENDED = BindResult(BindOutcome.CONTENDED, "the ledger of counted resources is contended")


@dataclass(frozen=True, slots=True)
class Request:
    """The needs of a pod. demands: the amounts on the node, whose devices are not chosen yet. floating: the shares of
    floating pools."""

    demands: tuple[Demand, ...] = ()
    floating: Shares = field(default_factory=dict)


NO_REQUEST = Request()


class Attempt:
    """One attempt to reserve, for one call of `Reservations.reserve`."""

    def __init__(
        self,
        ledger: Ledger,
        calls: TableCalls,
        binding: Binding,
        request: Request,
        counting: Counting,
        entry: Entry,
    ) -> None:
        """Create the attempt. entry: the attempt's entry; its shares are not chosen yet."""
        self._ledger = ledger
        self._calls = calls
        self._binding = binding
        self._counting = counting
        self._choice = ShareChoice(counting, request.demands, request.floating, binding.pod_uid)
        self._floating = request.floating
        self._entry = entry
        self._opened: OpenReservation | None = None
        """The open reservation that this attempt last wrote outside of a transaction, if any."""

    def reserve(self) -> Reservation | BindResult:
        """Reserve the shares. After TableUnavailable or DeadlineExceeded the entry may or may not have been written."""
        shares = self._choice.without_devices()
        ledgers: Mapping[str, NodeLedger] = {}
        if shares is None:
            ledger = self._calls.with_retry(lambda: self._ledger.table.node(self._binding.node))
            if ledger is None or ledger.avail is None:
                return NO_LEDGER
            chosen = self._choice.at(ledger)
            if isinstance(chosen, Insufficient):
                return _insufficient(chosen)
            shares, ledgers = chosen, {ledger.owner: ledger}
        result = self._write_entries({**shares, **self._floating}, ledgers)
        if isinstance(result, BindResult):
            self._delete_open()
        return result

    def _write_entries(self, shares: Shares, ledgers: Mapping[str, NodeLedger]) -> Reservation | BindResult:
        uid = self._binding.pod_uid
        for lost_races in range(1, TRIES + 1):
            parts = by_owner(shares, self._binding.node)
            wanted = {owner: replace(self._entry, shares=part) for owner, part in parts.items()}
            earlier = {name: each.entries[uid] for name, each in ledgers.items() if uid in each.entries}
            opened = replace(self._entry, shares=shares).open_on(self._binding.node)
            if len(wanted) == 1 and opened != self._opened:
                self._calls.with_retry(partial(self._ledger.table.put_open, opened))
                self._opened = opened
            result = self._calls.with_retry(partial(self._ledger.reserve, wanted, earlier, opened))
            if result.outcome is LedgerOutcome.DONE:
                written = result.entries(uid)
                return Reservation(
                    self._binding,
                    self._entry.attempt,
                    self._counting.annotations(shares),
                    is_first_attempt=not earlier,
                    shares=shares,
                    has_surplus=any(dict(each.shares) != dict(parts[owner]) for owner, each in written.items()),
                )
            if result.outcome is LedgerOutcome.NO_LEDGER:
                return NO_LEDGER
            if self._calls.repeated:
                # A request without an answer may have written the entries, and another bind may have taken them over.
                # Do not take them back under the same id: an expiry may have read them before.
                break
            ledgers = result.ledgers
            if any(each.state is EntryState.BOUND for each in result.entries(uid).values()):
                # The watcher confirmed the pod on the node after bind had read the pod.
                break
            chosen = self._chosen(ledgers, lost_races)
            if isinstance(chosen, Insufficient):
                return _insufficient(chosen)
            shares = chosen
        return CONTENDED

    def _chosen(self, ledgers: Mapping[str, NodeLedger], lost_races: int) -> Shares | Insufficient:
        """Choose the shares again, from the ledgers as they are now."""
        shares, short = dict[str, int](), list[str]()
        for ledger in ledgers.values():
            chosen = self._choice.at(ledger, lost_races)
            if isinstance(chosen, Insufficient):
                short += chosen.resources
            else:
                shares |= chosen
        return Insufficient(tuple(short), never=False) if short else shares

    def _delete_open(self) -> None:
        """Delete the open reservation, because this attempt does not own an entry. After a retry do not delete it: the
        first call may still write an entry."""
        if self._opened is not None and not self._calls.repeated:
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
        """Prepare the reservations. call_seconds: the longest duration of a call to the table; a call does not start if
        less time is left."""
        self._table = table
        self._ledger = Ledger(table)
        self._new_id = new_id
        self._wall = wall
        self._call_seconds = call_seconds

    def reserve(
        self, binding: Binding, request: Request, counting: Counting, remaining: Remaining
    ) -> Reservation | BindResult:
        """Reserve as a new attempt, and take over the entries of an earlier attempt. BindResult: the pod does not have
        a reservation of this attempt, or the table did not confirm it."""
        calls = TableCalls(remaining, self._call_seconds)
        entry = replace(_entry_of(binding), attempt=self._new_id(), since=self._wall())
        try:
            return Attempt(self._ledger, calls, binding, request, counting, entry).reserve()
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))
        except DeadlineExceeded:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, DEADLINE_PASSED)

    def release_surplus(self, reservation: Reservation, remaining: Remaining) -> None:
        """Reduce the entries to the shares of this attempt, if the attempt still owns them. If the table does not
        confirm a write, the entry keeps the surplus until the pod has ended. The attempt's open reservation stays until
        the watcher has confirmed the pod.

        Call this only after the API server has confirmed the Binding of this attempt: the pod is on its node with these
        shares, which no longer change.
        """
        calls, binding = TableCalls(remaining, self._call_seconds), reservation.binding
        mine = replace(_entry_of(binding), attempt=self._new_id(), shares=reservation.shares, since=self._wall())
        is_open = False
        try:
            for owner, shares in by_owner(reservation.shares, binding.node).items():
                ledger = calls.with_retry(partial(self._table.node, owner))
                seen = None if ledger is None else ledger.entries.get(binding.pod_uid)
                if ledger is None or seen is None or not _is_reserved_by(reservation.attempt, seen):
                    continue
                if not is_open:
                    # Put the open reservation first, so that every entry has an open reservation.
                    calls.with_retry(lambda: self._table.put_open(mine.open_on(binding.node)))
                    is_open = True
                calls.with_retry(partial(self._ledger.shrink, ledger, seen, replace(mine, shares=shares)))
        except (TableUnavailable, DeadlineExceeded):
            return

    def release(
        self,
        binding: Binding,
        owners: Iterable[str],
        remaining: Remaining,
        attempt: str | None = None,
        *,
        keeps_open: bool = False,
    ) -> None:
        """Release the reservation for this pod on this node if `attempt` owns the entries. If the table does not
        answer, the entries expire. attempt: None for any attempt. owners: the node, floating pools, or both.
        keeps_open: the attempt may have entries at other owners, so its open reservation stays.

        Call this only after the attempt's Binding was rejected, and only if `is_first_attempt`. With None, call it only
        if the pod's Bindings to this node can no longer succeed.
        """
        calls, uid, attempts = TableCalls(remaining, self._call_seconds), binding.pod_uid, set[str]()
        try:
            for owner in owners:
                ledger = calls.with_retry(partial(self._table.node, owner))
                entry = None if ledger is None else ledger.entries.get(uid)
                if entry is None or not _is_reserved_by(attempt or entry.attempt, entry):
                    continue
                if not calls.with_retry(partial(self._ledger.release, owner, entry, ledger=ledger)).done:
                    return
                attempts.add(entry.attempt)
            # Delete open reservations last, so that every entry has an open reservation.
            for each in () if keeps_open else attempts:
                calls.with_retry(partial(self._table.delete_open, uid, binding.node, each))
        except (TableUnavailable, DeadlineExceeded):
            return


def _entry_of(binding: Binding) -> Entry:
    """Return an entry for the pod, whose attempt and shares are not set yet."""
    pod = PodKey(binding.namespace, binding.pod_name, binding.pod_uid)
    return Entry(pod, EntryState.RESERVED, "", {}, 0.0)


def _is_reserved_by(attempt: str, entry: Entry) -> bool:
    return entry.state is EntryState.RESERVED and entry.attempt == attempt
