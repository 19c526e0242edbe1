"""The node cache of a warm environment: the snapshot that every call of a verb decides on.

Guarantees:
- A call decides on the state that was published when it read the head, or on a later one, in the parts that it needs.
- A call never decides on data older than `maxStaleness`. While the head cannot be read, the snapshot in memory is used
  until it is that old.
- If resources are counted, a pod that is being bound is counted exactly once after its bind has written its
  reservation: either by the open reservation or by the cache. Reservations are read before the head, and a reservation
  is closed only after its pod was published.
- If a rule depends on other pods, the same applies to a pod after its bind has announced it.
- A configuration that does not count is not used while the ledger counts (CountingLossCheck).
- After its deadline a call neither begins to read a table nor waits. A read that has begun continues in its thread, and
  the call answers with the state in memory, or with a reason.

Not guaranteed:
- A warm-up event may miss the last publication: if reservations and announcements are not needed, its read of the head
  is eventually consistent.
- A verb may miss the most recent binds, if reads of the head are eventually consistent or at intervals. Then the ledger
  rejects the bind, or bind's own evaluation does, because bind reads consistently (`latest_only`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from berth.configuration.store import (
    ActiveConfiguration,
    ConfigurationInvalid,
    Configurations,
    CountingLossCheck,
    CountingLost,
)
from berth.extender.deadline import NO_DEADLINE, PASSED, BoundedReads, Deadline, DeadlinePassed
from berth.extender.outcomes import FailureOutcome
from berth.extender.ports import CacheState, CacheUnavailable, DecisionContext, NodeCache, PodCoverage
from berth.lease.clock import Clock, Instant
from berth.nodecache.binds_under_way import NOTHING_READ, BindsUnderWay, Needs, OpenBinds
from berth.nodecache.feed.head import Head, Pointer
from berth.nodecache.feed.reader import DEADLINE_PASSED, NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.snapshot_view import CachedCluster
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot

RECENT_SECONDS = 10.0
"""The maximum age of a recent heartbeat, in seconds: several intervals between heartbeats."""

PAUSES, PAUSE_SECONDS = 50, 0.005
"""How many times a call rereads a cache that lacks its pod's version, and the seconds between two reads."""

NOT_RUNNING = "does the watcher run?"
NO_NEWS = "the watcher publishes but hears nothing from the API server, or a clock was set"
CLOCKS_DIFFER = "the watcher publishes: its clock differs from this process's clock"


class StalenessReason:
    """Finds the reason why data is stale, from the pointers that a process reads. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: tuple[float, float] | None = None
        self._published_at: float | None = None

    def note(self, pointer: Pointer) -> None:
        now, seen = self._clock.monotonic(), self._seen
        if seen is not None and seen[0] != pointer.heartbeat and now - seen[1] <= RECENT_SECONDS:
            self._published_at = now
        self._seen = pointer.heartbeat, now

    def reason(self, pointer: Pointer, max_staleness: float) -> str:
        """Return the reason, with the data's time and not its age: a changed text would requeue the pod (fact 17)."""
        at = datetime.fromtimestamp(pointer.observation.observed_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"the node cache is of {at}, older than maxStaleness ({max_staleness:g} s); {self._cause(pointer)}"

    def _cause(self, pointer: Pointer) -> str:
        heartbeat_age = self._clock.wall() - pointer.heartbeat
        if abs(heartbeat_age) <= RECENT_SECONDS:
            return NO_NEWS
        saw_publication = (
            self._published_at is not None and self._clock.monotonic() - self._published_at <= RECENT_SECONDS
        )
        return CLOCKS_DIFFER if saw_publication or heartbeat_age < 0 else NOT_RUNNING


@dataclass(frozen=True, slots=True)
class HeadRead:
    at: Instant
    head: Head | None
    under_way: OpenBinds


PODS = "pods"
NO_BINDS = BindsUnderWay(None, None)


@dataclass(eq=False)
class WarmNodeCache(NodeCache):
    """Keeps the snapshot and the policy between the calls of a process, and updates them on each call. Thread-safe.
    `warn`: called with failures that the call survived. `on_read`: called by every call that reads the published state,
    with the data's age in seconds. It must not raise. `loss`: used if the configuration does not count; None without a
    ledger. `on_fallback`: called by every call for which the applied configuration cannot be loaded. `latest_only`:
    every read is consistent, and a failed read is a failure of the call. `pause`: waits for a publication; None if
    publications take longer than a call may wait."""

    table: CacheTable
    reader: NodeCacheReader[CachedCluster]
    configurations: Configurations
    clock: Clock
    warn: Callable[[str], None]
    under_way: BindsUnderWay = NO_BINDS
    on_read: Callable[[float], None] = lambda age: None
    loss: CountingLossCheck | None = None
    reads: BoundedReads = field(default_factory=BoundedReads)
    on_fallback: Callable[[], None] = lambda: None
    latest_only: bool = False
    pause: Callable[[float], None] | None = None
    _staleness: StalenessReason = field(init=False)
    _last_read: HeadRead | None = field(init=False, default=None)
    _warned: str = field(init=False, default="")
    _stalled_at: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._staleness = StalenessReason(self.clock)

    def current(
        self,
        deadline: Deadline = NO_DEADLINE,
        reads: Parts = NO_PARTS,
        *,
        pod_version: str = "",
        is_warm_up: bool = False,
    ) -> DecisionContext:
        found = self._at_once(deadline, reads, is_warm_up=is_warm_up)
        if self.pause is None or found.coverage.covers(pod_version) is not False:
            return found
        # A scheduler evaluates a pod milliseconds after its creation, and knows all earlier changes. Do not wait again
        # if the watch has not moved since.
        for _ in range(PAUSES if found.coverage.resource_version != self._stalled_at else 0):
            if not deadline.decision_seconds():
                return found
            self.pause(PAUSE_SECONDS)
            found = self._at_once(deadline, reads)
            if found.coverage.covers(pod_version) is not False:
                return found
        self._stalled_at = found.coverage.resource_version
        return found

    def _at_once(self, deadline: Deadline, reads: Parts, *, is_warm_up: bool = False) -> DecisionContext:
        try:
            return self.reads.before(deadline, partial(self._read, deadline, reads, is_warm_up=is_warm_up))
        except DeadlinePassed:
            return self._in_memory(reads)

    def asked_about(self, pod: Pod) -> None:
        self.under_way.asked_about(pod)

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        try:
            return self.reads.before(deadline, partial(self._read_policy, deadline))
        except DeadlinePassed:
            self.warn(DEADLINE_PASSED)
            return self.configurations.last.policy

    def catch_up(self, reads: Parts = NO_PARTS) -> int:
        """Load a recent snapshot for the next call, possibly without the last publication. Return its version; 0 if
        nothing is published. `reads`: see `current`."""
        self.current(reads=reads, is_warm_up=True)
        return self.reader.version

    def _read(self, deadline: Deadline, reads: Parts, *, is_warm_up: bool) -> DecisionContext:
        try:
            last = self.configurations.last.policy
            read = self._read_tables(deadline, self.under_way.needs(last), is_warm_up=is_warm_up)
            configured = self._configured(read)
            needs = self.under_way.needs(configured.policy)
            if not read.under_way.has(needs):
                # A new configuration needs more binds under way, and these must be read before the head.
                read = self._read_tables(deadline, needs)
                configured = self._configured(read)
            found = self._decision_context(read, configured, deadline, reads)
            if isinstance(found.cluster, Snapshot) and not configured.policy.counting.counts:
                self._check_counting_loss()
            return found
        except CountingLost as error:
            return _counting_lost(configured, error)
        except (TableUnavailable, ConfigurationInvalid) as error:
            configured = self.configurations.last
            return DecisionContext(configured.policy, CacheUnavailable(str(error), configured.node_cache.when_stale))

    def _read_policy(self, deadline: Deadline) -> Policy:
        try:
            return self._configured(self._read_tables(deadline, Needs())).policy
        except (TableUnavailable, ConfigurationInvalid) as error:
            self.warn(str(error))
            return self.configurations.last.policy

    def _in_memory(self, reads: Parts) -> DecisionContext:
        """Return the context from memory, without reading, and without waiting for a lock that a late read may hold."""
        last, configured = self._last_read, self.configurations.last
        rules = configured.node_cache
        if last is None or self.latest_only:
            return DecisionContext(configured.policy, CacheUnavailable(DEADLINE_PASSED, rules.when_stale))
        self.warn(_in_memory_counts(DEADLINE_PASSED, rules.max_staleness))
        try:
            if self.loss is not None and not configured.policy.counting.counts:
                self.loss.raise_if_known()
        except CountingLost as error:
            return _counting_lost(configured, error)
        return self._decision_context(last, configured, PASSED, reads)

    def _configured(self, read: HeadRead) -> ActiveConfiguration:
        found = self.configurations.at("" if read.head is None else read.head.configuration_hash)
        if found.fallback:
            self.on_fallback()
        difference = "" if read.head is None else found.plugin_difference(read.head.plugin_version)
        if difference and difference != self._warned:
            self._warned = difference
            self.warn(difference)
        return found

    def _check_counting_loss(self) -> None:
        if self.loss is None:
            return
        try:
            self.loss.raise_if_lost()
        except TableUnavailable as error:
            # Then filter may accept a node that bind rejects: bind checks the ledger itself.
            self.warn(f"{error}; whether resources should be counted is unknown")

    def _decision_context(
        self, read: HeadRead, configured: ActiveConfiguration, deadline: Deadline, reads: Parts
    ) -> DecisionContext:
        cluster = self._cluster(read, configured, deadline, reads | configured.policy.reads)
        counts = self.under_way.needs(configured.policy).reservations
        refusal = read.head.counting_refusal if read.head is not None and counts else ""
        state = _state(read.head, configured)
        log = self.under_way.log(read.under_way)
        return DecisionContext(configured.policy, cluster, refusal, log, state, _coverage(read.head))

    def _cluster(
        self, read: HeadRead, configured: ActiveConfiguration, deadline: Deadline, parts: Parts
    ) -> Snapshot | CacheUnavailable:
        rules, head = configured.node_cache, read.head
        try:
            snapshot = self.reader.at(head, deadline.remaining, parts).snapshot
        except NothingPublished as error:
            return CacheUnavailable(str(error), rules.when_stale)
        pointer = head.pointer if head else None
        age = self.clock.wall() - (pointer.observation.observed_at if pointer else 0.0)
        self.on_read(age)
        if pointer is not None and age > rules.max_staleness:
            return CacheUnavailable(self._staleness.reason(pointer, rules.max_staleness), rules.when_stale)
        if read.under_way == NOTHING_READ:
            return snapshot
        return self.under_way.assume(snapshot, read.under_way, _coverage(head))

    def _read_tables(self, deadline: Deadline, needs: Needs, *, is_warm_up: bool = False) -> HeadRead:
        """Read the tables or, if the configuration allows it, return the last read."""
        last, rules = self._last_read, self.configurations.last.node_cache
        now = self.clock.now()
        if (
            last is not None
            and not self.latest_only
            and now.longest_since(last.at) < rules.min_head_read_interval
            and last.under_way.has(needs)
        ):
            return last
        earlier = NOTHING_READ if last is None else last.under_way
        under_way = self.under_way.read(needs, earlier, partial(_require_time, deadline), self._survive)
        try:
            _require_time(deadline)
            head = self._head(needs, is_warm_up=is_warm_up)
            if head is not None and head.unreadable_reason:
                raise TableUnavailable(head.unreadable_reason)
        except TableUnavailable as error:
            if last is None or self.latest_only:
                raise
            self.warn(_in_memory_counts(str(error), rules.max_staleness))
            return HeadRead(now, last.head, under_way)
        read = HeadRead(now, head, under_way)
        if head is not None:
            self._last_read = read
            if head.pointer is not None:
                self._staleness.note(head.pointer)
        return read

    def _head(self, needs: Needs, *, is_warm_up: bool) -> Head | None:
        """Read the head. In a warm-up event the read is eventually consistent, if its only effect can be a missed
        publication: an older head must not be combined with newer reservations, be reused within the interval, or bring
        back a configuration."""
        last, rules = self._last_read, self.configurations.last.node_cache
        if self.latest_only:
            return self.table.head()
        if rules.eventually_consistent:
            return self.table.head_eventually()
        if is_warm_up and last is not None and needs == Needs() and not rules.min_head_read_interval:
            head = self.table.head_eventually()
            known = "" if last.head is None else last.head.configuration_hash
            if head is not None and head.configuration_hash == known:
                return head
        return self.table.head()

    def _survive(self, error: TableUnavailable) -> None:
        """Raise if `latest_only`, else warn. Verbs may then accept nodes that bind rejects: bind reads the table."""
        if self.latest_only:
            raise error
        self.warn(f"{error}; pods that are being bound are not counted")


def _state(head: Head | None, configured: ActiveConfiguration) -> CacheState:
    pointer = None if head is None else head.pointer
    version, observed_at = (0, 0.0) if pointer is None else (pointer.version, pointer.observation.observed_at)
    return CacheState(
        version, observed_at, "" if head is None else head.configuration_hash, configured.document.decisions
    )


def _coverage(head: Head | None) -> PodCoverage:
    pods = None if head is None or head.pointer is None else head.pointer.observation.positions.get(PODS)
    return PodCoverage() if pods is None else PodCoverage(pods.resource_version, pods.observed_at)


def _counting_lost(configured: ActiveConfiguration, error: CountingLost) -> DecisionContext:
    return DecisionContext(configured.policy, CacheUnavailable(str(error), outcome=FailureOutcome.COUNTING_LOST))


def _in_memory_counts(cause: str, max_staleness: float) -> str:
    return f"{cause}; what is in memory counts until it is {max_staleness:g} s old"


def _require_time(deadline: Deadline) -> None:
    if not deadline.remaining():
        raise TableUnavailable(DEADLINE_PASSED)
