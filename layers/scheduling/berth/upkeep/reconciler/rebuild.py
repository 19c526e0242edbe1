"""Rebuilds ledgers from the pods on the nodes. Nothing can be reserved on a node while its ledger is rebuilt.

A floating pool is rebuilt like a node.

A lost table does not contain the binds that were under way. So the order of the steps matters, for each node:

1. Remove `avail` from the item: from now on no bind can reserve on the node.
2. Read the open reservations of the node: a bind that reserved before step 1 has written one.
3. Wait until no bind that began before step 1 can still run, and until a later state of the cluster is published.
4. Invalidate the Bindings of every pod that may have a reservation (see expiry): the pods of the open reservations and
   of the old reserved entries. If all ledgers are rebuilt, also every unbound pod that requests a counted resource: a
   lost table does not show its binds. A pod that turns out to be on a node has to be published there before step 5.
5. Write the entries of the pods that are published on the node, with `avail`: now binds can reserve again. The pods'
   entries that the item still has are kept. Annotations are used only for lost entries.

A table that ends with its process (`is_lost_with_process`) does not lose items while the process lives. Binds reserve
only on a node with an item, so a node without an item skips step 3: only another store's binds can have reserved there.
Such a bind has ended, or it read its pod before this store acquired the Lease of the ledger (see ledger_holder). So
this table is rebuilt only when the holder of the Lease requests it, and step 4 lists the pods at the API server,
because some may not be published yet.

Guarantees: no Binding that was sent before the rebuild succeeds after it without an entry in the new ledger. A rebuild
that is interrupted begins again with the next watcher; the table's marker is `rebuilding` until the end.

Not guaranteed: how long it takes. While the table or the API server does not answer, it waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from berth.ledger.nodes.entry import EntryState, OpenReservation
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState, NotWritten
from berth.scheduling.managed_resources.pools import is_floating
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import Report, ReservationEvent, ReservationEventType
from berth.upkeep.reconciler.expiry import Expiry, ExpiryOutcome, ExpiryResult, OnNode
from berth.upkeep.reconciler.node_reconciliation import NodeReconciliation, StaleEpoch

LATE_SECONDS = 5.0
"""Seconds after the scheduler's httpTimeout in which a Binding may still arrive."""


@dataclass(slots=True)
class _NodeRebuild:
    """A node between step 2 and step 5. unconfirmed: the reservations whose Binding may still arrive.

    binds_end_at: the end of all binds that began before step 1, in monotonic seconds. observed_after: the published
    state must be later than this, in seconds since the epoch. bound: by UID, the times at which the API server showed
    pods on the node. Before step 5 each of them must be published there, or the published state must be later than its
    time.
    """

    unconfirmed: list[OpenReservation]
    binds_end_at: float
    observed_after: float
    bound: dict[str, float] = field(default_factory=dict)


class Rebuild:
    """Rebuilds the ledgers of nodes that need a rebuild, in one thread and one leadership. Methods may raise
    TableUnavailable and StaleEpoch, and may be repeated."""

    def __init__(
        self,
        table: LedgerTable,
        reconciliation: NodeReconciliation,
        expiry: Expiry,
        epoch: int,
        bind_seconds: float,
        *,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        new_id: Callable[[], str],
        report: Report,
        unpublished_pods: Callable[[], Iterable[PodKey] | None],
        is_published: Callable[[str], bool],
        is_lost_with_process: bool = False,
    ) -> None:
        """Create the rebuild. bind_seconds: the longest time from the start of a bind to the arrival of its Binding.

        unpublished_pods: returns the pods that request a counted resource and are not published on a node; None: the
        API server did not answer. is_published: returns whether the pod with this UID is published on a node or has
        ended. is_lost_with_process: whether the table loses items only with its process.
        """
        self._table = table
        self._reconciliation = reconciliation
        self._expiry = expiry
        self._epoch = epoch
        self._bind_seconds = bind_seconds
        self._wall = wall
        self._monotonic = monotonic
        self._new_id = new_id
        self._report = report
        self._unpublished_pods = unpublished_pods
        self._is_published = is_published
        self._is_lost_with_process = is_lost_with_process
        self._queue: dict[str, None] = {}
        """The nodes before step 1, in order."""
        self._without_avail: dict[str, list[OpenReservation]] = {}
        """The nodes between steps 1 and 2, with the reserved entries of the old ledger."""
        self._never_reserved: set[str] = set()
        """The nodes between steps 1 and 2 on which no bind of this store can have reserved."""
        self._waiting: dict[str, _NodeRebuild] = {}
        """The nodes between steps 2 and 5."""
        self._rebuilt: set[str] = set()
        self._marker: Marker | None = None
        """The marker that this watcher wrote; None unless it rebuilds all ledgers."""
        self._pods_to_invalidate: list[PodKey] | None = None
        self._observed_at = 0.0
        self.is_registered = False
        """Whether the marker has this leadership's epoch. Until then this leadership does not write, because two
        leaderships must not share an epoch."""

    @property
    def is_under_way(self) -> bool:
        return bool(self._queue or self._without_avail or self._waiting or self._marker)

    def includes(self, node: str) -> bool:
        return self._is_known(node) or (self._marker is not None and node not in self._rebuilt)

    def follow_marker(self, marker: Marker | None, nodes: Iterable[str]) -> None:
        """Register the epoch in the marker. If the marker is absent or requests a rebuild, rebuild all nodes. A table
        that ends with its process has a marker only after the holder of the Lease has requested its rebuild."""
        if marker is None and self._is_lost_with_process:
            return
        if marker is not None and marker.epoch >= self._epoch + self.is_registered:
            raise StaleEpoch("marker", marker.epoch)
        if marker is not None and self._marker is not None and marker.nonce == self._marker.nonce:
            return
        if marker is not None and marker.state is MarkerState.READY:
            self._marker = None
            # If the marker has changed, the next call reads it.
            mine = replace(marker, epoch=self._epoch, nonce=self._new_id())
            self.is_registered = self.is_registered or self._table.put_marker(mine, marker)
            return
        rebuilding = Marker(MarkerState.REBUILDING, self._epoch, self._wall(), self._new_id())
        if not self._table.put_marker(rebuilding, marker):
            return  # another process wrote a marker; the next call reads it
        self._marker, self.is_registered = rebuilding, True
        self._waiting, self._without_avail, self._rebuilt = {}, {}, set()
        self._never_reserved = set()
        self._pods_to_invalidate = None
        self._queue = dict.fromkeys(nodes)
        detail = f"all {len(self._queue)} nodes"
        self._report(ReservationEvent(ReservationEventType.REBUILDING, detail=detail))

    def record_epoch(self, later: int) -> None:
        """Write a later epoch into the marker, so that the next leadership takes a higher one (see LeaderElector)."""
        marker = self._table.marker()
        if marker is None:
            self._table.put_marker(Marker(MarkerState.REBUILDING, later, self._wall(), self._new_id()), None)
        elif marker.epoch < later:
            self._table.put_marker(replace(marker, epoch=later, nonce=self._new_id()), marker)

    def add(self, node: str) -> None:
        if not self._is_known(node):
            self._queue[node] = None

    def step(self, observed_at: float) -> bool:
        """Do one step for one node, or end the rebuild. Return False if there is nothing to do yet. observed_at: when
        the published pods were observed, in seconds since the epoch."""
        if self._queue:
            self._remove_avail()
            return True
        if self._without_avail:
            self._read_open_reservations()
            return True
        self._observed_at = observed_at
        for node, rebuild in self._waiting.items():
            have_ended = self._monotonic() >= rebuild.binds_end_at
            if have_ended and observed_at > rebuild.observed_after and self._are_published(rebuild):
                return self._invalidate_unbound_pods() and self._finish_node(node, rebuild)
        return self._finish()

    def _are_published(self, rebuild: _NodeRebuild) -> bool:
        return all(self._is_published(uid) or self._observed_at > at for uid, at in rebuild.bound.items())

    def _is_known(self, node: str) -> bool:
        return node in self._queue or node in self._waiting or node in self._without_avail

    def _remove_avail(self) -> None:
        """Do step 1 for the next node."""
        node = next(iter(self._queue))
        written = self._table.begin_rebuild(node, self._epoch)
        if isinstance(written, NotWritten) and written.ledger is not None:
            raise StaleEpoch(node, written.ledger.epoch)
        entries = {} if written.ledger is None else written.ledger.entries
        if written.ledger is None and self._is_lost_with_process:
            self._never_reserved.add(node)
        del self._queue[node]
        self._without_avail[node] = [
            entry.open_on(node) for entry in entries.values() if entry.state is EntryState.RESERVED
        ]

    def _read_open_reservations(self) -> None:
        """Do step 2 for all nodes after step 1."""
        found = self._table.open_reservations()
        now = self._monotonic()
        for node, reserved in self._without_avail.items():
            unconfirmed = reserved + [each for each in found if node in each.owners]
            if node in self._never_reserved:
                self._waiting[node] = _NodeRebuild(unconfirmed, now, -math.inf)
            else:
                ends = now + self._bind_seconds, self._wall() + self._bind_seconds
                self._waiting[node] = _NodeRebuild(unconfirmed, *ends)
        self._without_avail, self._never_reserved = {}, set()

    def _invalidate_unbound_pods(self) -> bool:
        """Do step 4 if all ledgers are rebuilt. Return False if the API server did not answer or a pod changed."""
        if self._marker is None:
            return True
        if self._pods_to_invalidate is None:
            # For a table that can lose items at any time, step 3 has waited until these pods are published.
            found = self._unpublished_pods()
            if found is None:
                return False
            self._pods_to_invalidate = list(found)
        while self._pods_to_invalidate:
            if isinstance(self._invalidated(self._pods_to_invalidate[-1]), ExpiryResult):
                return False
            self._pods_to_invalidate.pop()
        return True

    def _finish_node(self, node: str, rebuild: _NodeRebuild) -> bool:
        """Do steps 4 and 5 for one node. Return False if the node has to wait."""
        while rebuild.unconfirmed:
            if not self._close(rebuild.unconfirmed[-1], node):
                return False
            rebuild.unconfirmed.pop()
        if not self._are_published(rebuild):
            return True  # a pod on this node is not published yet
        if not self._reconciliation.rebuild(node):
            return False
        self._rebuilt.add(node)
        del self._waiting[node]
        return True

    def _close(self, reservation: OpenReservation, owner: str) -> bool:
        """Do step 4 for a reservation. Return False if the step has to be repeated."""
        found = self._invalidated(reservation.pod)
        if isinstance(found, ExpiryResult):
            return False
        if reservation.owners == {owner}:
            self._expiry.delete_open(reservation, ExpiryOutcome.NO_ENTRY)
            return True
        # If the pod is on a node, its publication confirms its other entries.
        return found is not None or self._expiry.release_elsewhere(reservation, owner)

    def _invalidated(self, pod: PodKey) -> OnNode | ExpiryResult | None:
        """Make every earlier Binding of the pod fail. If the pod is on a node, step 5 waits for its publication."""
        found = self._expiry.invalidate_bindings(pod)
        if isinstance(found, OnNode):
            for owner, rebuild in self._waiting.items():
                if owner == found.node or is_floating(owner):
                    rebuild.bound[pod.uid] = self._wall()
        return found

    def _finish(self) -> bool:
        if self._marker is None or self._waiting:
            return False
        ready = Marker(MarkerState.READY, self._epoch, self._wall(), self._new_id())
        if self._table.put_marker(ready, self._marker):
            self._report(ReservationEvent(ReservationEventType.READY))
        # If the write fails, another rebuild was requested; the next follow_marker begins it.
        self._marker = None
        return True
