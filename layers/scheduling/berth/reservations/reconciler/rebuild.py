"""Making ledgers anew from the pods that are on the nodes, while nothing can be reserved there.

A ledger that was lost has forgotten the binds that were under way. So it is made in this order: the item is blanked,
and from then on no bind can reserve there; a bind that reserved before has its time to end; what is published is
waited for until it was observed after that; every pod that something may have been reserved for is made unbindable (see
expiry), those of the open reservations and of the old entries and, where all ledgers are made anew, every unbound pod
that asks for something counted, for a table that was lost tells of none; and only then the pods that are published on
the node are entered, and reserving begins again.

A rebuild that is cut off begins anew with the next watcher. It is marked in the table by `rebuilding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from berth.reservations.ledger.entry import EntryState, OpenReservation, PodKey
from berth.reservations.ledger.table import LedgerTable, Marker, MarkerState, NotWritten
from berth.reservations.reconciler.events import Event, Report, ReservationEvent
from berth.reservations.reconciler.expiry import Expired, Expiry, On
from berth.reservations.reconciler.node_reconciliation import NodeReconciliation, Outranked

LATE_SECONDS = 5.0
"""Beyond the scheduler's httpTimeout a Binding may be on its way for so long."""


@dataclass(slots=True)
class _Blank:
    """A node that is being rebuilt: what was reserved there when it was blanked, since when that is known, and after
    what moment (in seconds since the epoch) the cluster must have been observed."""

    suspects: list[OpenReservation]
    monotonic: float
    observed_after: float


class Rebuild:
    """The nodes whose ledger is to be made anew; for one thread, and one leadership.

    Every method may raise TableUnavailable and Outranked, and may then be called again.
    """

    def __init__(
        self,
        table: LedgerTable,
        reconciliation: NodeReconciliation,
        expiry: Expiry,
        epoch: int,
        quiet: float,
        *,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        new_id: Callable[[], str],
        report: Report,
        unbound: Callable[[], Iterable[PodKey]],
    ) -> None:
        """quiet: seconds after which no bind that began before can be under way. unbound: the pods that ask for
        something counted and are published on no node."""
        self._table = table
        self._reconciliation = reconciliation
        self._expiry = expiry
        self._epoch = epoch
        self._quiet = quiet
        self._wall = wall
        self._monotonic = monotonic
        self._new_id = new_id
        self._report = report
        self._unbound = unbound
        self._wanted: dict[str, None] = {}
        self._blanked: dict[str, list[OpenReservation]] = {}
        self._blank: dict[str, _Blank] = {}
        self._filled: set[str] = set()
        self._marker: Marker | None = None
        """This watcher's own, while it rebuilds all."""
        self._to_touch: list[PodKey] | None = None
        self._observed_at = 0.0

    @property
    def is_under_way(self) -> bool:
        """Whether there is something to do."""
        return bool(self._wanted or self._blanked or self._blank or self._marker)

    def concerns(self, node: str) -> bool:
        """Whether this node's ledger is to be made anew."""
        return self._is_begun(node) or (self._marker is not None and node not in self._filled)

    def heed(self, marker: Marker | None, nodes: Iterable[str]) -> None:
        """Begin with all these nodes where the marker says so: it is absent, or asks for a rebuild."""
        if marker is not None and marker.epoch > self._epoch:
            raise Outranked("marker")
        own = self._marker is not None and marker is not None and marker.nonce == self._marker.nonce
        if own or (marker is not None and marker.state is MarkerState.READY):
            if not own:
                self._marker = None
            return
        mine = Marker(MarkerState.REBUILDING, self._epoch, self._wall(), self._new_id())
        if not self._table.put_marker(mine, marker):
            return  # another stands there by now: heed that one
        self._marker = mine
        self._blank, self._blanked, self._filled = {}, {}, set()
        self._to_touch = None
        self._wanted = dict.fromkeys(nodes)
        self._report(Event(ReservationEvent.REBUILDING, detail=f"all {len(self._wanted)} nodes"))

    def add(self, node: str) -> None:
        """Make this one's ledger anew."""
        if not self._is_begun(node):
            self._wanted[node] = None

    def step(self, observed_at: float) -> bool:
        """Blank one node, or fill one, or end the rebuild. False: there is nothing to do yet.

        observed_at: how old what is published of pods is, in seconds since the epoch.
        """
        if self._wanted:
            self._blank_next()
            return True
        if self._blanked:
            self._suspect()
            return True
        self._observed_at = observed_at
        for node, blank in self._blank.items():
            if self._monotonic() - blank.monotonic >= self._quiet and observed_at > blank.observed_after:
                return self._touch_all() and self._fill(node, blank)
        return self._end()

    def _is_begun(self, node: str) -> bool:
        return node in self._wanted or node in self._blank or node in self._blanked

    def _blank_next(self) -> None:
        node = next(iter(self._wanted))
        written = self._table.blank(node, self._epoch)
        if isinstance(written, NotWritten) and written.ledger is not None:
            raise Outranked(node)
        entries = {} if written.ledger is None else written.ledger.entries
        del self._wanted[node]
        self._blanked[node] = [
            OpenReservation(entry.pod, node, entry.attempt, entry.shares, entry.since)
            for entry in entries.values()
            if entry.state is EntryState.RESERVED
        ]

    def _suspect(self) -> None:
        """Read after they are blank: whoever has reserved there had put its open reservation before."""
        found = self._table.open_reservations()
        for node, reserved in self._blanked.items():
            suspects = reserved + [each for each in found if each.node == node]
            self._blank[node] = _Blank(suspects, self._monotonic(), self._wall() + self._quiet)
        self._blanked = {}

    def _touch_all(self) -> bool:
        """Whether every pod that may have been being bound when the ledgers were blanked is unbindable by now."""
        if self._marker is None:
            return True
        if self._to_touch is None:
            # It is published by now, on a node or on none.
            self._to_touch = list(self._unbound())
        while self._to_touch:
            if not self._is_unbindable(self._to_touch[-1]):
                return False
            self._to_touch.pop()
        return True

    def _fill(self, node: str, blank: _Blank) -> bool:
        while blank.suspects:
            suspect = blank.suspects[-1]
            if not self._is_unbindable(suspect.pod):
                return False
            self._expiry.forget(suspect)
            blank.suspects.pop()
        if blank.observed_after >= self._observed_at:
            return True  # one of them is here after all, and that is still to be published
        self._reconciliation.fill(node)
        self._filled.add(node)
        del self._blank[node]
        return True

    def _is_unbindable(self, pod: PodKey) -> bool:
        """Whether nothing can come of an earlier bind any more that will not be published."""
        match self._expiry.make_unbindable(pod):
            case Expired():
                return False
            case On(node=node) if node in self._blank:
                self._blank[node].observed_after = self._wall()
        return True

    def _end(self) -> bool:
        if self._marker is None or self._blank:
            return False
        ready = Marker(MarkerState.READY, self._epoch, self._wall(), self._new_id())
        if self._table.put_marker(ready, self._marker):
            self._report(Event(ReservationEvent.READY))
        # Else somebody has asked for another rebuild meanwhile: the marker says so.
        self._marker = None
        return True
