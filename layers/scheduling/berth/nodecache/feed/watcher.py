"""One run of the watcher, from the election to the handover.

A candidate ends after one or two reads if the leader stays or another candidate waits. A candidate that waits follows
the published state, so that it can continue at once. The leader resumes the watches at its predecessor's positions,
publishes changes, and releases the lease when its time is over.

Guarantees:
- A deposed leader stops. Its successor knows everything that the leader has published.
- If the published state cannot be loaded, it is published again from a list.
- The run continues while the table or the cluster is unavailable. The result names the last failure, and `on_trouble`
  gets each failure and its end at once, because a run may take 15 minutes.

Not guaranteed:
- That any process leads. After a crash the next candidate first waits until the lease has expired.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum

from berth.lease.clock import Clock
from berth.lease.config import ElectionOutcome, Step
from berth.lease.elector import LeaderElector, run
from berth.nodecache.feed.changes import Key, Object
from berth.nodecache.feed.cluster import Cluster, ClusterUnavailable
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.leader import INTERVALS, Leader, ObjectsView, Publication, PublishIntervals
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, StaleFence, TableUnavailable
from berth.nodecache.feed.writer import RETENTION, NotLeading, Retention, StaleEpoch


class WatcherOutcome(StrEnum):
    NOT_NEEDED = "not-needed"
    HANDED_OVER = "handed-over"
    DEPOSED = "deposed"
    NEVER_LED = "never-led"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"
    TABLE_UNAVAILABLE = "failure-table-unavailable"
    CONFIGURATION_INVALID = "failure-configuration-invalid"


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of one run. `reason`: the failure that ended the run, otherwise the last failure. `omissions`: the
    first ten objects that are not published completely. `events_without_name`: watch events with a nameless object."""

    outcome: WatcherOutcome
    publications: int = 0
    objects: int = 0
    reason: str = ""
    events_without_name: int = 0
    omissions: tuple[str, ...] = ()
    nodes: int = 0

    @property
    def failed(self) -> bool:
        return self.outcome.startswith("failure-") or bool(self.omissions or self.events_without_name)

    @property
    def summary(self) -> str:
        parts = [self.reason] if self.reason else []
        if self.publications:
            parts.append(f"{self.publications} publications, {self.objects} objects of them {self.nodes} nodes")
        if self.events_without_name:
            parts.append(f"left out {self.events_without_name} without a name")
        return "; ".join((*parts, *(f"left out {each}" for each in self.omissions)))


FOLLOW_SECONDS = 5.0
"""Seconds between two loads of new publications by a waiting candidate. Each load costs a read of the head. When the
candidate becomes the leader, it loads only later publications."""

_TOLERANCE_SECONDS = 0.01
_NAMED_OMISSIONS = 10
_NAMED_CAUSES = 10
_WELL_SECONDS = 5.0


@dataclass(eq=False)
class Watcher:
    """A candidate, which leads if it is elected; for one thread. `sleep` may return early.

    `on_published`: see Leader. `may_wait`: called before each wait for the leader; returns False if another candidate
    waits. `on_trouble`: called with each cause that prevents this run's work or the watch of a resource; called with an
    empty text when the cause has ended, and when the run begins to work. `once`: end after the first publication or
    failure. `new_id`: returns an id that is unique over all processes.
    """

    elector: LeaderElector
    cluster: Cluster
    table: CacheTable
    _: KW_ONLY
    clock: Clock
    sleep: Callable[[float], None]
    stopped: Callable[[], bool]
    new_id: Callable[[], str]
    on_published: Callable[[Publication], None]
    on_trouble: Callable[[str], None] = lambda _: None
    may_wait: Callable[[], bool] = lambda: True
    once: bool = False
    intervals: PublishIntervals = INTERVALS
    retention: Retention = RETENTION
    _reader: NodeCacheReader[dict[Key, Object]] = field(init=False)
    _causes: set[str] = field(init=False, default_factory=set)
    _failed_at: float = field(init=False, default=-math.inf)
    _is_well: bool = field(init=False, default=False)
    _is_redundant: bool = field(init=False, default=False)
    _followed_at: float = field(init=False, default=-math.inf)
    _leader: Leader | None = field(init=False, default=None)
    _failure: tuple[WatcherOutcome, str] | None = field(init=False, default=None)
    _survived_failure: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._reader = NodeCacheReader(self.table, ObjectsView(), self.sleep)

    def run(self) -> RunResult:
        try:
            ended = run(self.elector, self._wait)
        finally:
            if self._leader is not None:
                self._leader.stop()
        return self._result(ended)

    def _wait(self, seconds: float) -> bool:
        """Work between two steps of the elector. Return True if the run is over."""
        try:
            self._work(seconds)
            if self._failure is not None:
                self._survived_failure, self._failure = self._failure[1], None
            self._say_cause()
        except StaleEpoch as error:
            # The elector may not know this yet, and does not detect another writer in this epoch.
            self._failure = WatcherOutcome.DEPOSED, str(error)
            return True
        except (NotLeading, StaleFence):
            pass  # the elector's next step finds the cause
        except TableUnavailable as error:
            self._failure = WatcherOutcome.TABLE_UNAVAILABLE, str(error)
            self._say_cause()
            self.sleep(min(seconds, self.intervals.flush))
        except ClusterUnavailable as error:
            self._failure = WatcherOutcome.CLUSTER_UNAVAILABLE, str(error)
            self._say_cause()
            self.sleep(seconds)
        return self._is_over()

    def _say_cause(self) -> None:
        """Report a new cause or its end, unless the run ends with its first failure (`once`), whose cause is in the
        result. A failure that recurs within _WELL_SECONDS has not ended."""
        leader, now = self._leader, self.clock.monotonic()
        cause = self._failure[1] if self._failure is not None else ""
        if leader is not None:
            cause = cause or (leader.interruption if leader.publications else leader.interrupted)
        if self.once:
            return
        if cause:
            self._failed_at = now
            if cause not in self._causes and len(self._causes) < _NAMED_CAUSES:
                self._causes.add(cause)
                self._is_well = False
                self.on_trouble(cause)
        elif (
            not self._is_well and leader is not None and leader.publications and now - self._failed_at >= _WELL_SECONDS
        ):
            self._causes.clear()
            self._is_well = True
            self.on_trouble("")

    def _is_over(self) -> bool:
        leader = self._leader
        is_done = self._failure is not None or (leader is not None and bool(leader.publications or leader.interrupted))
        return self._is_redundant or (self.once and is_done) or self.stopped()

    def _work(self, seconds: float) -> None:
        fence = self.elector.fence()
        if fence is None:
            if self._leader is None:
                self._is_redundant = not self.may_wait()
                if self._is_redundant:
                    return
                self._follow()
            self.sleep(seconds)
            return
        leader = self._leader or self._begin(fence.lease_transitions)
        leader.work(seconds)
        if self.elector.handover_in <= _TOLERANCE_SECONDS or self._is_over():
            leader.finish()

    def _follow(self) -> None:
        """Load new publications, so that little is left to load for the leader."""
        now = self.clock.monotonic()
        if now - self._followed_at >= FOLLOW_SECONDS:
            self._load_published()
            self._followed_at = now

    def _begin(self, epoch: int) -> Leader:
        pointer, objects = self._load_published()
        self._leader = Leader(
            self.cluster,
            self.table,
            self.elector,
            epoch,
            pointer,
            objects,
            clock=self.clock,
            sleep=self.sleep,
            new_id=self.new_id,
            intervals=self.intervals,
            on_published=self.on_published,
            retention=self.retention,
        )
        return self._leader

    def _load_published(self) -> tuple[Pointer | None, dict[Key, Object] | None]:
        """Return the published pointer, if there is one, and its state; None instead of a state that cannot be read."""
        head = self.table.head()
        if head is None or head.pointer is None:
            return None, None
        try:
            return head.pointer, self._reader.at(head)
        except NothingPublished:
            return head.pointer, None

    def _result(self, ended: Step) -> RunResult:
        if self._is_redundant:
            return RunResult(WatcherOutcome.NOT_NEEDED, reason="another candidate waits for the handover")
        leader = self._leader
        outcome, reason = self._failure or (_OUTCOMES.get(ended.outcome, WatcherOutcome.NEVER_LED), ended.detail)
        if leader is None:
            return RunResult(outcome, reason=reason or self._survived_failure)
        if not leader.publications and leader.interrupted:
            outcome = WatcherOutcome.CLUSTER_UNAVAILABLE
        objects, omissions = leader.state.objects, leader.writer.omissions
        return RunResult(
            outcome,
            publications=leader.publications,
            objects=len(objects),
            nodes=sum(resource == "nodes" for resource, _ in objects),
            reason=reason or self._survived_failure or leader.interrupted,
            events_without_name=leader.state.events_without_name,
            omissions=tuple(
                f"{resource} {key}: {cause}" for (resource, key), cause in list(omissions.items())[:_NAMED_OMISSIONS]
            ),
        )


_OUTCOMES = {
    ElectionOutcome.NOT_NEEDED: WatcherOutcome.NOT_NEEDED,
    ElectionOutcome.RELEASED: WatcherOutcome.HANDED_OVER,
    ElectionOutcome.DEPOSED: WatcherOutcome.DEPOSED,
    ElectionOutcome.RENEW_DEADLINE_EXCEEDED: WatcherOutcome.DEPOSED,
}
