"""The ledger as bind uses it.

Cost of a reservation where nobody is in the way: the open reservation, and one conditional write; with devices one
consistent read before, to choose one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from zlib import crc32

from berth.extender.outcomes import BindOutcome
from berth.extender.ports import Binding, Held, NotHeld, Remaining, Reservations
from berth.reservations.entry import Entry, EntryState, OpenReservation, PodKey, Shares
from berth.reservations.ledger import Ledger, LedgerOutcome, LedgerResult
from berth.reservations.node_ledger import NodeLedger
from berth.reservations.table import LedgerTable, TableUnavailable
from berth.scheduling.managed_resources.counting import Counting, Demand, Insufficient
from berth.scheduling.managed_resources.device_annotation import device_of

TRIES = 10
"""Races for one device, or with another bind of the same pod, that a reservation loses before it gives up."""

ANY_AFTER = 2

NO_LEDGER = "the node's ledger of counted resources is not ready"
CONTENDED = "the node's ledger of counted resources is contended"
TOO_LATE = "the deadline was over before the ledger of counted resources was written"

T = TypeVar("T")


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
        attempt = _Attempt(self, binding, demands, counting, remaining)
        try:
            return attempt.hold()
        except TableUnavailable as error:
            return NotHeld(BindOutcome.LEDGER_UNAVAILABLE, str(error))
        except _TooLate:
            return NotHeld(BindOutcome.LEDGER_UNAVAILABLE, TOO_LATE)

    def release(self, held: Held, remaining: Remaining) -> None:
        self._give_back(held.binding, remaining, held.attempt)

    def forget(self, binding: Binding, remaining: Remaining) -> None:
        self._give_back(binding, remaining)

    def _give_back(self, binding: Binding, remaining: Remaining, attempt: str | None = None) -> None:
        """Of this attempt, or of any. What is not reached expires."""
        calls = _Calls(remaining, self._call_seconds)
        try:
            found = calls.twice(lambda: self._table.node(binding.node))
            entry = None if found is None else found.entries.get(binding.pod_uid)
            if entry is None or entry.state is not EntryState.RESERVED or attempt not in (None, entry.attempt):
                return
            result = calls.twice(lambda: self._ledger.release(binding.node, entry, ledger=found))
            # Last, so that no entry is without an open reservation.
            if result.done:
                calls.twice(lambda: self._table.delete_open(binding.pod_uid, binding.node, entry.attempt))
        except (TableUnavailable, _TooLate):
            return

    # What an attempt needs; not for others.

    def new_attempt(self, binding: Binding) -> tuple[PodKey, str, float]:
        """The pod, an id that no attempt ever had, and the time."""
        return PodKey(binding.namespace, binding.pod_name, binding.pod_uid), self._new_id(), self._wall()

    @property
    def ledger(self) -> Ledger:
        """On the table."""
        return self._ledger

    @property
    def call_seconds(self) -> float:
        """The longest that one call of the table takes."""
        return self._call_seconds


class _TooLate(Exception):
    """There is no time left for another call."""


@dataclass(slots=True)
class _Calls:
    """Calls of the table, as long as there is time. repeated: one went unanswered, and may be carried out yet."""

    remaining: Remaining
    seconds: float
    repeated: bool = False

    def twice(self, call: Callable[[], T]) -> T:
        """A socket may have died while the environment was frozen, and every operation may be repeated."""
        self._check()
        try:
            return call()
        except TableUnavailable:
            self.repeated = True
            self._check()
            return call()

    def _check(self) -> None:
        if self.remaining() < self.seconds:
            raise _TooLate


class _Attempt:
    """One attempt to hold what one pod asks for."""

    def __init__(
        self,
        reservations: LedgerReservations,
        binding: Binding,
        demands: Sequence[Demand],
        counting: Counting,
        remaining: Remaining,
    ) -> None:
        self._ledger = reservations.ledger
        self._calls = _Calls(remaining, reservations.call_seconds)
        self._binding = binding
        self._node = binding.node
        self._demands = demands
        self._counting = counting
        self._pod, self._attempt, self._since = reservations.new_attempt(binding)

    def hold(self) -> Held | NotHeld:
        """Raises TableUnavailable and _TooLate: then it is open whether anything is held."""
        shares = self._without_devices()
        seen: NodeLedger | None = None
        if shares is None:
            seen = self._calls.twice(lambda: self._ledger.table.node(self._node))
            if seen is None or seen.avail is None:
                return NotHeld(BindOutcome.NO_LEDGER, NO_LEDGER)
            chosen = self._chosen(seen)
            if isinstance(chosen, Insufficient):
                return NotHeld(BindOutcome.INSUFFICIENT, chosen.text)
            shares = chosen if self._pod.uid in seen.entries else self._dispersed(chosen, seen, 0)
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
            chosen = self._chosen(seen)
            if isinstance(chosen, Insufficient):
                return self._given_up(NotHeld(BindOutcome.INSUFFICIENT, chosen.text))
            shares = chosen if entry is not None else self._dispersed(chosen, seen, tried)
        return self._given_up(NotHeld(BindOutcome.CONTENDED, CONTENDED))

    def _without_devices(self) -> Shares | None:
        """The shares where no device has to be chosen: then nothing of the node need be known to choose."""
        asked = {demand.resource: demand.amount for demand in self._demands}
        chosen = self._counting.choose(self._demands, {}, asked)
        return None if isinstance(chosen, Insufficient) else chosen

    def _chosen(self, ledger: NodeLedger) -> Shares | Insufficient:
        """What the pod holds already counts as free for it, and is kept if it will do."""
        avail, entry = ledger.avail or {}, ledger.entries.get(self._pod.uid)
        if entry is None:
            return self._counting.choose(self._demands, ledger.capacity, avail)
        held = self._counting.choose(self._demands, ledger.capacity, entry.shares)
        if not isinstance(held, Insufficient):
            return held
        own = {pool: avail.get(pool, 0) + entry.shares.get(pool, 0) for pool in {**avail, **entry.shares}}
        return self._counting.choose(self._demands, ledger.capacity, own)

    def _dispersed(self, shares: Shares, ledger: NodeLedger, tried: int) -> Shares:
        """The same from devices that are as good, so that binds at one moment do not all want the same one. After two
        lost races any device of that size with room is."""
        found: dict[str, int] = {}
        for pool, amount in shares.items():
            alike = _alike(pool, amount, ledger, any_room=tried >= ANY_AFTER)
            chosen = alike[crc32(f"{self._pod.uid} {tried}".encode()) % len(alike)] if alike else pool
            found[chosen] = amount
        return found

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
            with suppress(TableUnavailable, _TooLate):
                self._calls.twice(lambda: self._ledger.table.delete_open(self._pod.uid, self._node, self._attempt))
        return why


def _alike(pool: str, amount: int, ledger: NodeLedger, *, any_room: bool) -> list[str]:
    """The devices of this one's size with as much room, or with any that will do; none where it is no device."""
    device, avail = device_of(pool), ledger.avail or {}
    if device is None:
        return []
    return sorted(
        each
        for each, size in ledger.capacity.items()
        if (other := device_of(each)) is not None
        and other[0] == device[0]
        and size == ledger.capacity[pool]
        and (avail.get(each, 0) >= amount if any_room else avail.get(each, 0) == avail.get(pool, 0))
    )
