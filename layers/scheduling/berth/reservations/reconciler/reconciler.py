"""The watcher's part in the ledger: it follows what is published, looks after old reservations, and visits every node.

Guarantees. What it writes follows from what has been published, and is refused where a later watcher has written: a
deposed one can do nothing wrong. A crash between any two calls leaves something that its successor finds: by the pods
that are published, by the open reservations, or by the visit that each watcher pays to every node. While the table or
the API server refuses, everything stays as it is, and is tried again.

Not guaranteed: that the ledger is up to date with what is published. What it lags behind by is held too long, never too
short.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from berth.reservations.ledger.entry import OpenReservation
from berth.reservations.ledger.table import LedgerTable, MarkerState, TableUnavailable
from berth.reservations.reconciler.events import Event, Report, ReservationEvent
from berth.reservations.reconciler.expiry import Expired, Expiry, ExpiryOutcome
from berth.reservations.reconciler.node_reconciliation import NodeReconciliation, Outranked
from berth.reservations.reconciler.open_reservations import OpenReservations, id_of
from berth.reservations.reconciler.published_pods import PublishedPods
from berth.reservations.reconciler.rebuild import LATE_SECONDS, Rebuild
from berth.reservations.reconciler.reserved_pods import ReservedPods
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. poll: between looks at the open reservations and the marker. expiry: how old a reservation is before
    somebody looks what became of its bind; no bind takes so long. sweep: between visits of nodes where nothing
    happened. pause: after the table has refused."""

    poll: float = 2.0
    expiry: float = 30.0
    sweep: float = 0.05
    pause: float = 1.0


class Reconciler:
    """For one thread, and one leadership. Nothing it does raises but a defect of ours."""

    def __init__(
        self,
        table: LedgerTable,
        pods: ReservedPods,
        counting: Counting,
        epoch: int,
        http_timeout: float,
        *,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        new_id: Callable[[], str],
        report: Report,
        made_room: Callable[[], None],
        pace: Pace | None = None,
    ) -> None:
        """epoch: of this leadership. http_timeout: the scheduler's for the extender, in seconds. made_room: called when
        something was given back that no publication tells of."""
        self._table = table
        self._roll = PublishedPods(counting)
        self._epoch = epoch
        self._monotonic = monotonic
        self._report = report
        self._made_room = made_room
        self._pace = pace or Pace()
        self._node = NodeReconciliation(table, self._roll, epoch, wall, self._told, self._is_ready)
        self._expiry = Expiry(table, pods, epoch)
        self._rebuild = Rebuild(
            table,
            self._node,
            self._expiry,
            epoch,
            http_timeout + LATE_SECONDS,
            wall=wall,
            monotonic=monotonic,
            new_id=new_id,
            report=self._told,
            unbound=lambda: self._roll.unbound,
        )
        self._open = OpenReservations(wall, monotonic)
        self._concerned: dict[str, None] = {}
        self._to_sweep: deque[str] = deque()
        self._to_expire: deque[OpenReservation] = deque()
        self._to_close: deque[OpenReservation] = deque()
        self._observed_at = 0.0
        self._has_learned = False
        self._poll_at = self._sweep_at = self._resume_at = self._rebuild_at = monotonic()
        self.is_outranked = False
        """A later watcher has written; nothing is done any more."""

    def learn(self, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None], observed_at: float) -> None:
        """What has been published, by key, None for what is gone: first all there is, then what has changed."""
        concerned = self._roll.learn(nodes, pods)
        self._observed_at = observed_at
        if self._has_learned:
            self._concerned |= dict.fromkeys(sorted(concerned))
        else:
            # Not all at once: what changes meanwhile goes first.
            self._to_sweep.extend(sorted(self._roll.nodes))
            self._has_learned = True

    def work(self) -> float:
        """Do the next thing there is to do. Returns after how many seconds there may be another one."""
        now = self._monotonic()
        if self.is_outranked or not self._has_learned:
            return self._pace.poll
        if now < self._resume_at:
            return self._resume_at - now
        try:
            self._next(now)
        except Outranked as error:
            self.is_outranked = True
            self._report(Event(ReservationEvent.OUTRANKED, str(error), detail=f"epoch {self._epoch}"))
        except TableUnavailable as error:
            self._resume_at = now + self._pace.pause
            self._report(Event(ReservationEvent.TABLE_UNAVAILABLE, detail=str(error)))
        return self._until_next()

    def _until_next(self) -> float:
        now = self._monotonic()
        if self.is_outranked:
            return self._pace.poll
        due = self._poll_at
        if self._to_sweep:
            due = min(due, self._sweep_at)
        if self._rebuild.is_under_way:
            due = min(due, self._rebuild_at)
        if self._concerned or self._to_close or self._to_expire:
            due = now
        return max(0.0, due - now, self._resume_at - now)

    def _next(self, now: float) -> None:
        if now >= self._poll_at:
            self._poll()
            self._poll_at = now + self._pace.poll
        elif self._concerned:
            node = next(iter(self._concerned))
            self._visit(node)
        elif self._to_close:
            self._close(self._to_close[0])
            self._to_close.popleft()
        elif self._rebuild.is_under_way and now >= self._rebuild_at:
            if not self._rebuild.step(self._observed_at):
                self._rebuild_at = now + self._pace.pause
        elif self._to_expire:
            self._expire(self._to_expire[0])
            self._to_expire.popleft()
        elif self._to_sweep and now >= self._sweep_at:
            self._sweep_at = now + self._pace.sweep
            self._visit(self._to_sweep[0])
            self._to_sweep.popleft()

    def _is_ready(self) -> bool:
        """Whether the table is the one that the marker was read of."""
        found = self._table.marker()
        return found is not None and found.state is MarkerState.READY

    def _visit(self, node: str) -> None:
        if self._rebuild.concerns(node):
            self._rebuild.add(node)
        else:
            reconciled = self._node.visit(node)
            for entry in reconciled.reserved:
                self._open.note_entry(node, entry)
            if reconciled.blank:
                self._rebuild.add(node)
            if reconciled.unfinished:
                # Behind the others, so that one node does not hold them up.
                self._to_sweep.append(node)
        self._concerned.pop(node, None)

    def _poll(self) -> None:
        """Look at the marker and at all open reservations."""
        self._rebuild.heed(self._table.marker(), sorted(self._roll.nodes))
        now = self._monotonic()
        known = self._open.note(self._table.open_reservations(), now)
        waiting = {id_of(each) for each in (*self._to_expire, *self._to_close)}
        for each, reservation in known.items():
            if each in waiting or self._rebuild.concerns(reservation.node):
                continue
            if self._roll.settled(reservation.pod.uid):
                # The node's ledger is brought to what is published, and then this goes.
                self._concerned[reservation.node] = None
                self._to_close.append(reservation)
            elif reservation.release_requested or self._open.age(reservation) >= self._pace.expiry:
                self._to_expire.append(reservation)

    def _expire(self, reservation: OpenReservation) -> None:
        if self._rebuild.concerns(reservation.node):
            return
        if self._open.was_on_node_before(reservation, self._observed_at):
            # It has been published by now that the pod is there, and it is not on the roll: nothing of it is counted.
            done = self._expiry.release(reservation)
        else:
            done = self._expiry.expire(reservation)
        if done.outcome is ExpiryOutcome.ON_NODE:
            self._open.note_on_node(reservation)
        if done.outcome.is_over:
            self._open.forget(reservation)
        self._tell_expired(reservation, done)

    def _tell_expired(self, reservation: OpenReservation, done: Expired) -> None:
        node, pod = reservation.node, f"{reservation.pod.namespace}/{reservation.pod.name}"
        match done.outcome:
            case ExpiryOutcome.RELEASED:
                self._report(Event(ReservationEvent.EXPIRED, node, pod, reservation.shares))
                self._made_room()
            case ExpiryOutcome.NOTHING_HELD | ExpiryOutcome.CONFIRMED:
                pass
            case ExpiryOutcome.UNKNOWN:
                self._report(Event(ReservationEvent.CLUSTER_UNAVAILABLE, node, pod, detail=done.detail))
            case _:
                self._report(Event(ReservationEvent.POSTPONED, node, pod, detail=done.outcome))

    def _close(self, reservation: OpenReservation) -> None:
        self._expiry.close(reservation)
        self._open.forget(reservation)

    def _told(self, event: Event) -> None:
        """What pods end is published, and wakes the queue then; but only now can be reserved what they held."""
        self._report(event)
        if event.happening in (
            ReservationEvent.RELEASED,
            ReservationEvent.RESIZED,
            ReservationEvent.CREATED,
            ReservationEvent.REBUILT,
        ):
            self._made_room()
