"""The watcher's work on the ledger: it follows publications, checks old reservations, and reconciles every node.

Guarantees: every write follows from the published state, and is fenced by the watcher's epoch, so a deposed watcher
does no harm. After a crash between any two calls, the next watcher finds the rest of the work: by the published pods,
by the open reservations, or by reconciling every node once. While the table or the API server is unavailable, the
ledger does not change, and the work is repeated.

Not guaranteed: the ledger may lag behind the published state. Until it has caught up, amounts stay reserved for too
long, but are never released too early.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.entry import OpenReservation
from berth.ledger.nodes.table import LedgerTable, MarkerState
from berth.pods import ReservedPods, Unanswered
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import is_floating
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import Report, ReservationEvent, ReservationEventType
from berth.upkeep.reconciler.expiry import Expiry, ExpiryOutcome, ExpiryResult, OpenReservations, key_of
from berth.upkeep.reconciler.node_reconciliation import NodeReconciliation, StaleEpoch
from berth.upkeep.reconciler.published_pods import PublishedPods
from berth.upkeep.reconciler.rebuild import LATE_SECONDS, Rebuild

_CAPACITY_EVENTS = frozenset(
    {
        ReservationEventType.RELEASED,
        ReservationEventType.RESIZED,
        ReservationEventType.CREATED,
        ReservationEventType.REBUILT,
    }
)
"""Events that increase the amounts that can be reserved."""


MayExpire = Callable[[OpenReservation], bool]
"""Returns whether an old reservation may be released, as far as its gang is concerned. Raises TableUnavailable."""


POLL_SECONDS = 2.0
"""Seconds between two reads of the open reservations and the marker."""

SOON_SECONDS = 0.1
"""The same interval after a reservation that may have several owners was confirmed or released: until its open
reservation is deleted, filter counts the pod, even if the pod has ended."""

EXPIRY_SECONDS = 30.0
"""Age in seconds at which a reservation is checked: longer than any bind takes."""

SWEEP_SECONDS = 0.05
"""Seconds between two reconciliations of unchanged nodes."""

RETRY_SECONDS = 1.0
"""Seconds before the next attempt after an error of the table."""


class Reconciler:
    """Reconciles the ledger in one thread and one leadership. `update` and `work` raise only programming errors."""

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
        on_capacity_released: Callable[[], None],
        is_lost_with_process: bool = False,
        expiry_check: Callable[[], MayExpire] | None = None,
    ) -> None:
        """Create the reconciler. epoch: of this leadership. http_timeout: the httpTimeout of the extender in the
        scheduler's configuration, in seconds. is_lost_with_process: see Rebuild.

        on_capacity_released: called when waiting pods may fit now although no change was published. expiry_check:
        called once for the reservations of each poll, after they are read; None: there are no gangs.
        """
        self._table = table
        self._published = PublishedPods(counting)
        self._pods, self._counting = pods, counting
        self._epoch = epoch
        self._monotonic = monotonic
        self._report = report
        self._on_capacity_released = on_capacity_released
        self._expiry_check = expiry_check
        self._may_expire: MayExpire | None = None
        self._nodes = NodeReconciliation(
            table, pods, self._published, epoch, wall, self._report_change, self._is_table_ready
        )
        self._expiry = Expiry(table, pods, epoch)
        self._rebuild = Rebuild(
            table,
            self._nodes,
            self._expiry,
            epoch,
            http_timeout + LATE_SECONDS,
            wall=wall,
            monotonic=monotonic,
            new_id=new_id,
            report=self._report_change,
            unpublished_pods=self._listed_pods if is_lost_with_process else lambda: self._published.unbound_pods,
            is_published=self._published.is_bound_or_finished,
            is_lost_with_process=is_lost_with_process,
        )
        self._open = OpenReservations(wall, monotonic)
        self._changed_nodes: dict[str, None] = {}
        self._deferred: set[str] = set()
        self._to_sweep: deque[str] = deque()
        self._to_expire: deque[OpenReservation] = deque()
        self._to_close: deque[OpenReservation] = deque()
        self._observed_at = 0.0
        self._has_state = False
        self._polled_at = self._poll_at = self._sweep_at = self._resume_at = self._rebuild_at = monotonic()
        self.is_deposed = False
        """Whether the ledger has a later epoch; then this reconciler stops, and its watcher resigns."""

    def update(self, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None], observed_at: float) -> None:
        """Apply a publication. nodes, pods: the changed objects by key; None if deleted. The first publication contains
        all objects. observed_at: when the pods were observed, in seconds since the epoch."""
        changed = self._published.update(nodes, pods)
        self._observed_at = observed_at
        if self._has_state:
            self._changed_nodes |= dict.fromkeys(sorted(changed))
        else:
            # Reconcile owners one by one: first changed owners, then floating pools, because more pods wait for them.
            self._to_sweep.extend(sorted(self._published.owners, key=lambda owner: (not is_floating(owner), owner)))
            self._has_state = True

    def work(self) -> float:
        """Do one piece of work. Return the seconds until the next one may be due."""
        now = self._monotonic()
        if self.is_deposed or not self._has_state:
            return POLL_SECONDS
        if now < self._resume_at:
            return self._resume_at - now
        try:
            self._work_once(now)
        except StaleEpoch as error:
            self._resign(error)
        except TableUnavailable as error:
            self._resume_at = now + RETRY_SECONDS
            self._report(ReservationEvent(ReservationEventType.TABLE_UNAVAILABLE, detail=str(error)))
        return self._seconds_until_due()

    def _resign(self, error: StaleEpoch) -> None:
        self.is_deposed = True
        detail = f"epoch {self._epoch}, and the ledger has {error.later}"
        self._report(ReservationEvent(ReservationEventType.OUTRANKED, str(error), detail=detail))
        try:
            self._rebuild.record_epoch(error.later)
        except TableUnavailable as unavailable:
            self._report(ReservationEvent(ReservationEventType.TABLE_UNAVAILABLE, detail=str(unavailable)))

    def _seconds_until_due(self) -> float:
        now = self._monotonic()
        if self.is_deposed:
            return POLL_SECONDS
        due = self._poll_at
        if self._rebuild.is_registered:
            if self._to_sweep:
                due = min(due, self._sweep_at)
            if self._rebuild.is_under_way:
                due = min(due, self._rebuild_at)
            if self._changed_nodes or self._to_close or self._to_expire:
                due = now
        return max(0.0, due - now, self._resume_at - now)

    def _work_once(self, now: float) -> None:
        """Do the most urgent work. It leaves its queue only after success."""
        if now >= self._poll_at or not self._rebuild.is_registered:
            self._poll()
            self._polled_at, self._poll_at = now, now + POLL_SECONDS
        elif self._changed_nodes:
            self._reconcile(next(iter(self._changed_nodes)))
        elif self._to_close:
            self._expiry.close(self._to_close[0])
            self._open.remove(self._to_close.popleft())
        elif self._rebuild.is_under_way and now >= self._rebuild_at:
            if not self._rebuild.step(self._observed_at):
                self._rebuild_at = now + RETRY_SECONDS
        elif self._to_expire:
            self._expire(self._to_expire[0])
            self._to_expire.popleft()
        elif self._to_sweep and now >= self._sweep_at:
            self._sweep_at = now + SWEEP_SECONDS
            self._reconcile(self._to_sweep[0])
            self._to_sweep.popleft()

    def _listed_pods(self) -> list[PodKey] | None:
        """List pods that request a counted resource and are not published on a node. None: the list failed."""
        found = self._pods.list_pods(lambda pod: bool(self._counting.demands(pod)))
        if isinstance(found, Unanswered):
            self._report(ReservationEvent(ReservationEventType.CLUSTER_UNAVAILABLE, detail=found.cause))
            return None
        return [pod for pod in found if not self._published.is_bound_or_finished(pod.uid)]

    def _is_table_ready(self) -> bool:
        found = self._table.marker()
        return found is not None and found.state is MarkerState.READY

    def _reconcile(self, node: str) -> None:
        if self._rebuild.includes(node):
            self._rebuild.add(node)
        else:
            result = self._nodes.reconcile(node)
            for entry in result.reserved:
                self._open.add_entry(node, entry)
            if result.is_growth_deferred:
                self._deferred.add(node)
            if result.needs_rebuild:
                self._rebuild.add(node)
            if result.leaves_open:
                self._poll_at = min(self._poll_at, self._polled_at + SOON_SECONDS)
            if result.must_retry or result.unanswered:
                # Put the node behind the others, so that it does not delay them.
                self._to_sweep.append(node)
            if result.unanswered:
                self._sweep_at = self._monotonic() + RETRY_SECONDS
                self._report(ReservationEvent(ReservationEventType.CLUSTER_UNAVAILABLE, node, detail=result.unanswered))
        self._changed_nodes.pop(node, None)

    def _poll(self) -> None:
        self._may_expire = None
        self._changed_nodes |= dict.fromkeys(sorted(self._deferred))
        self._deferred.clear()
        self._rebuild.follow_marker(self._table.marker(), sorted(self._published.owners))
        now = self._monotonic()
        known = self._open.refresh(self._table.open_reservations(), now)
        queued = {key_of(each) for each in (*self._to_expire, *self._to_close)}
        for key, reservation in known.items():
            if key in queued or any(map(self._rebuild.includes, reservation.owners)):
                continue
            if self._published.is_bound_or_finished(reservation.pod.uid):
                # Reconcile the owners first; then the open reservation can be deleted.
                self._changed_nodes |= dict.fromkeys(sorted(reservation.owners))
                self._to_close.append(reservation)
            elif self._is_old(reservation):
                self._to_expire.append(reservation)

    def _is_old(self, reservation: OpenReservation) -> bool:
        """Return whether to check the pod at the API server. If a later state lacks the pod, it was bound and deleted
        in between, or is about to be published: do not wait for as long as a bind may take."""
        is_missing = self._observed_at > reservation.since and not self._published.has(reservation.pod.uid)
        return is_missing or self._open.age(reservation) >= EXPIRY_SECONDS

    def _expire(self, reservation: OpenReservation) -> None:
        if any(map(self._rebuild.includes, reservation.owners)):
            return
        if self._expiry_check is not None:
            self._may_expire = self._may_expire or self._expiry_check()
            if not self._may_expire(reservation):
                # The next poll finds the reservation again.
                return
        result = self._expiry.expire(reservation)
        if result.outcome is ExpiryOutcome.ON_NODE:
            if self._open.was_on_node_before(reservation, self._observed_at):
                # The pod is published, but PublishedPods does not have it, because it no longer requests a counted
                # resource. The next poll finds the pod there, and confirms the reservation.
                self._published.keep(reservation.pod, result.node, reservation.owners)
                return
            self._open.mark_on_node(reservation)
        if result.outcome.is_final:
            self._open.remove(reservation)
        self._report_expiry(reservation, result)

    def _report_expiry(self, reservation: OpenReservation, result: ExpiryResult) -> None:
        node, pod = reservation.node, f"{reservation.pod.namespace}/{reservation.pod.name}"
        match result.outcome:
            case ExpiryOutcome.RELEASED:
                self._report(ReservationEvent(ReservationEventType.EXPIRED, node, pod, reservation.shares))
                self._on_capacity_released()
            case ExpiryOutcome.NO_ENTRY:
                # Filter has counted the reservation until now.
                self._on_capacity_released()
            case ExpiryOutcome.CONFIRMED:
                pass
            case ExpiryOutcome.CLUSTER_UNAVAILABLE:
                event = ReservationEventType.CLUSTER_UNAVAILABLE
                self._report(ReservationEvent(event, node, pod, detail=result.detail))
            case _:
                self._report(ReservationEvent(ReservationEventType.POSTPONED, node, pod, detail=result.outcome))

    def _report_change(self, event: ReservationEvent) -> None:
        """Report a change, and wake the queue again if it frees capacity: a publication already woke the queue when the
        pod ended, but bind can reserve the capacity only after the ledger has released it."""
        self._report(event)
        if event.type in _CAPACITY_EVENTS:
            self._on_capacity_released()
