"""The watcher: one run of it, from standing for election to the hand-over.

A candidate that is not needed ends after one read. One that waits keeps up with what is published, so that it can go on
at once. The leader resumes the watches where its predecessor left them, publishes what changes, and releases the lease
when its time is over. Who is deposed stops, and has published nothing that its successor does not know of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from berth.lease.clock import Clock
from berth.lease.elector import LeaderElector
from berth.lease.outcomes import ElectionOutcome, Step
from berth.lease.run import run
from berth.nodecache.cluster import ClusterUnavailable
from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.cluster import Cluster
from berth.nodecache.feed.head import SCHEMA_VERSION, Pointer
from berth.nodecache.feed.leader import Leader, Pace
from berth.nodecache.feed.reader import FUTURE_SCHEMA, NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, Deposed, TableUnavailable
from berth.nodecache.feed.writer import NotLeading


class WatcherOutcome(StrEnum):
    """How one run of the watcher ended."""

    NOT_NEEDED = "not-needed"
    HANDED_OVER = "handed-over"
    DEPOSED = "deposed"
    NEVER_LED = "never-led"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"
    TABLE_UNAVAILABLE = "failure-table-unavailable"


@dataclass(frozen=True, slots=True)
class WatcherRun:
    """What one run did. `reason`: of a failure, or the last trouble overcome. `oversized`: objects in no item."""

    outcome: WatcherOutcome
    publications: int = 0
    objects: int = 0
    oversized: int = 0
    reason: str = ""


class ObjectsView:
    """The reader's state for a watcher: the objects themselves. Nobody else reads it, so it is changed in place."""

    def empty(self) -> dict[Key, Object]:
        return {}

    def applied(self, state: dict[Key, Object], changes: Iterable[Change]) -> dict[Key, Object]:
        for resource, key, kept in changes:
            if kept is None:
                state.pop((resource, key), None)
            else:
                state[resource, key] = kept
        return state


class Watcher:
    """One candidacy and what follows from it; for one thread. `sleep` may return early; `stopped` is asked after it."""

    def __init__(
        self,
        elector: LeaderElector,
        cluster: Cluster,
        table: CacheTable,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        stopped: Callable[[], bool],
        new_id: Callable[[], str],
        on_published: Callable[[list[Change]], None],
        pace: Pace | None = None,
    ) -> None:
        self._elector = elector
        self._cluster = cluster
        self._table = table
        self._reader = NodeCacheReader(table, ObjectsView(), sleep)
        self._clock = clock
        self._sleep = sleep
        self._stopped = stopped
        self._new_id = new_id
        self._on_published = on_published
        self._pace = pace or Pace()
        self._leader: Leader | None = None
        self._trouble: tuple[WatcherOutcome, str] | None = None

    def run(self) -> WatcherRun:
        """Until the hand-over, or until there is nothing to do."""
        try:
            ended = run(self._elector, self._wait)
        finally:
            if self._leader is not None:
                self._leader.stop()
        return self._summary(ended)

    def _wait(self, seconds: float) -> bool:
        """What is done between two steps of the elector. True: the run is over."""
        fence = self._elector.fence()
        try:
            if fence is not None:
                leader = self._leader or self._begin(fence.lease_transitions)
                leader.work(seconds)
            else:
                if self._leader is None:
                    self._published()
                self._sleep(seconds)
        except (NotLeading, Deposed):
            pass  # the elector's next step finds out why
        except TableUnavailable as error:
            self._trouble = WatcherOutcome.TABLE_UNAVAILABLE, str(error)
            self._sleep(min(seconds, self._pace.flush))
        except ClusterUnavailable as error:
            self._trouble = WatcherOutcome.CLUSTER_UNAVAILABLE, str(error)
            self._sleep(seconds)
        return self._stopped()

    def _begin(self, epoch: int) -> Leader:
        pointer, objects = self._published()
        self._leader = Leader(
            self._cluster,
            self._table,
            self._elector,
            epoch,
            pointer,
            objects,
            clock=self._clock,
            new_id=self._new_id,
            pace=self._pace,
            on_published=self._on_published,
        )
        self._trouble = None
        return self._leader

    def _published(self) -> tuple[Pointer | None, dict[Key, Object] | None]:
        """What is published, and the state behind it where that can be read."""
        head = self._table.head()
        if head is None or head.pointer is None:
            return None, None
        if head.pointer.schema_version > SCHEMA_VERSION:
            # The newer release's readers could not read what this one would publish in its place.
            raise TableUnavailable(FUTURE_SCHEMA)
        try:
            return head.pointer, self._reader.at(head)
        except NothingPublished:
            return head.pointer, None

    def _summary(self, ended: Step) -> WatcherRun:
        leader = self._leader
        outcome, reason = self._trouble or (_OUTCOMES.get(ended.outcome, WatcherOutcome.NEVER_LED), ended.detail)
        if leader is None:
            return WatcherRun(outcome, reason=reason)
        return WatcherRun(
            outcome,
            publications=leader.publications,
            objects=len(leader.objects),
            oversized=len(leader.oversized),
            reason=reason or leader.interrupted,
        )


_OUTCOMES = {
    ElectionOutcome.NOT_NEEDED: WatcherOutcome.NOT_NEEDED,
    ElectionOutcome.RELEASED: WatcherOutcome.HANDED_OVER,
    ElectionOutcome.DEPOSED: WatcherOutcome.DEPOSED,
    ElectionOutcome.RENEW_DEADLINE_EXCEEDED: WatcherOutcome.DEPOSED,
}
