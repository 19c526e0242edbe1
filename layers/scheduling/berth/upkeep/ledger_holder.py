"""Holds the Lease of the ledger for the watcher's store: acquires it, takes over, renews it, and reports which store
counts.

Guarantees: the Lease is marked as counting only after a rebuild of this store's ledger that began after the Lease was
acquired. The exception is a Lease that never had a holder: no other store has counted, and a new ledger becomes ready
node by node.

Not guaranteed: that a store counts at all times. After a crash of the holder the next store waits until the Lease has
expired.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from berth.dynamodb import TableUnavailable
from berth.lease.clock import Clock
from berth.lease.config import BecameLeader, ElectionOutcome, LeaderCallbacks, Step
from berth.lease.elector import LeaderElector
from berth.lease.lock import Unavailable, Written
from berth.ledger.lease import CALL_SECONDS, ELECTION, LedgerLease, StoreIdentity, counted_elsewhere
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState

TAKEOVER_POLL_SECONDS = 1.0
"""Seconds between checks of a takeover's rebuild, and before the next attempt after an error of the table."""

PUBLISH_SECONDS = 30.0
"""Seconds after which a refusal is published again: a head that was lost and created again does not have it."""

_FIRST_TRANSITION = 1
"""Transitions of an installed Lease with its first holder. A Lease made by a store has 0: it may replace another."""


class LedgerHolder:
    """Holds the Lease of the ledger in one thread and one leadership of the watcher."""

    def __init__(
        self,
        lease: LedgerLease,
        table: LedgerTable,
        store: StoreIdentity,
        publish: Callable[[str], None],
        clock: Clock,
        random: Callable[[], float],
        new_id: Callable[[], str],
        *,
        name: str,
    ) -> None:
        """Create the holder. publish: called with the reason why this store does not count, or with "" if it counts;
        may raise TableUnavailable.

        name: a readable prefix for the identity of a store that does not have an identity yet. new_id: returns a new id
        each time.
        """
        self._lease = lease
        self._table = table
        self._store = store
        self._publish = publish
        self._clock = clock
        self._random = random
        self._new_id = new_id
        self._name = name
        self._elector: LeaderElector | None = None
        self._identity = ""
        self._became: BecameLeader | None = None
        self._is_counting = False
        self._rebuild: Marker | None = None
        self._refusal: str | None = None
        self._published: str | None = None
        self._published_at = -math.inf

    def step(self) -> float:
        """Do the work that is due. Return the seconds until the next step; an earlier call is safe."""
        try:
            step = self._elect()
            self._report(step)
        except TableUnavailable:
            # Continue: binds read the Lease themselves.
            return TAKEOVER_POLL_SECONDS
        takes_over = self._became is not None and not self._is_counting
        return TAKEOVER_POLL_SECONDS if takes_over else step.again_in

    def _elect(self) -> Step:
        identity = self._current_identity()
        if self._elector is None or self._elector.identity != identity:
            self._became = None
            callbacks = LeaderCallbacks(self._acquired)
            self._elector = LeaderElector(self._lease, ELECTION, identity, self._clock, self._random, callbacks)
        step = self._elector.step()
        if step.ended:
            self._elector = self._became = None
        if self._became is not None and not self._is_counting:
            self._is_counting = self._take_over(self._became)
        return step

    def _current_identity(self) -> str:
        """Return the identity of the store. If the table does not have one, write the last known or a new identity."""
        found = self._store.get()
        if found is None:
            mine = self._identity or f"{self._name}/{self._new_id()}"
            found = mine if self._store.put_if_absent(mine) else self._store.get() or mine
        self._identity = found
        return found

    def _acquired(self, became: BecameLeader) -> None:
        self._became, self._is_counting, self._rebuild = became, False, None

    def _take_over(self, became: BecameLeader) -> bool:
        if self._rebuild is None:
            found = self._lease.holding(CALL_SECONDS)
            if found is None or isinstance(found, Unavailable) or found.holder != self._identity:
                return False
            if found.is_counting:
                return True
            is_first = not became.previous and became.lease_transitions == _FIRST_TRANSITION
            if not is_first or self._table.marker() is None:
                requested = self._request_rebuild()
                if not is_first:
                    self._rebuild = requested
                    return False
        else:
            marker = self._table.marker()
            if marker is None or marker.state is not MarkerState.READY or marker.nonce == self._rebuild.nonce:
                return False
        lease = self._lease.get()
        if lease is None or isinstance(lease, Unavailable) or lease.spec.holder_identity != self._identity:
            return False
        return isinstance(self._lease.mark_counting(lease), Written)

    def _request_rebuild(self) -> Marker | None:
        """Write a marker and return it, or None if another process wrote a marker first; the next step tries again."""
        seen = self._table.marker()
        requested = Marker(
            MarkerState.REBUILDING, 0 if seen is None else seen.epoch, self._clock.wall(), self._new_id()
        )
        return requested if self._table.put_marker(requested, seen) else None

    def _report(self, step: Step) -> None:
        if self._became is not None:
            self._refusal = ""
        elif step.outcome is ElectionOutcome.HELD and self._elector is not None:
            self._refusal = counted_elsewhere(self._elector.leader)
        elif step.outcome is ElectionOutcome.UNAVAILABLE and not self._refusal:
            self._refusal = step.detail
        now = self._clock.monotonic()
        is_due = bool(self._refusal) and now - self._published_at >= PUBLISH_SECONDS
        if self._refusal is not None and (self._refusal != self._published or is_due):
            self._publish(self._refusal)
            self._published, self._published_at = self._refusal, now
