"""The applied configuration's rules for bind: counted resources, rules about other pods, gangs, and limits.

The configuration is read at intervals, so a bind may still use the previous document. `berth config apply` waits until
all binds use the new document (`effect_delay` in the command).

bind checks its right to reserve after it has read the pod and before it reserves. A store that takes over later
invalidates the Bindings of all pods that were read before, so the check is not repeated before the Binding is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from berth.bind.announcing import Announcements
from berth.bind.share import Request, Reservations
from berth.configuration.store import ConfigurationInvalid, Configurations, CountingLossCheck
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import UNREAD_CACHE, CacheState, CacheUnavailable, NodeCache
from berth.lease.clock import Clock, Instant
from berth.lease.lock import Unavailable
from berth.ledger.lease import NAME, NAMESPACE, Holding, LedgerLease, StoreIdentity, counted_elsewhere
from berth.pods import BERTH_SCHEDULERS
from berth.scheduling.configuration.document import BindConfiguration
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.floating import NoDomain
from berth.scheduling.objects import Pod, UnreadableObject

if TYPE_CHECKING:
    from berth.bind.gang.barrier import GangBarrier


@dataclass(frozen=True, slots=True)
class CountedResources:
    """The counted resources, the ledger that counts them, and the ledger's right to count. right: the check of this
    right; None if no other ledger can count, as for a dump. cache: has the labels of nodes, for floating pools."""

    counting: Counting
    reservations: Reservations
    right: CountingRight | None = None
    cache: NodeCache | None = None

    def request(self, pod: Pod, node: str, deadline: Deadline) -> Request | BindResult:
        """Return the pod's request on this node. BindResult: the request is unreadable, the node is not in any domain
        of a floating resource, or the cache with the node's labels is unavailable."""
        demands = self.counting.demands(pod)
        if isinstance(demands, UnreadableObject):
            return BindResult(BindOutcome.UNREADABLE, demands.cause)
        labels: Mapping[str, str] = {}
        floating = self.counting.floating
        if self.cache is not None and not floating.label_keys.isdisjoint(map(floating.scope, demands)):
            cluster = self.cache.current(deadline).cluster
            if isinstance(cluster, CacheUnavailable):
                return BindResult(BindOutcome.NO_LEDGER, cluster.reason)
            labels = cluster.nodes[node].labels if node in cluster.nodes else {}
        shares = floating.shares(demands, pod.namespace, labels)
        if isinstance(shares, NoDomain):
            return BindResult(BindOutcome.INSUFFICIENT, shares.reason)
        return Request(demands, shares)


EVERY_POD = BindConfiguration()


@dataclass(frozen=True, slots=True)
class BindRules:
    """The rules for bind. counted: None without counted resources. limits: the namespaces whose pods may be bound.
    announcements: None without rules about other pods. gangs: None if gangs are disabled. state: the configuration's
    state, for records of decisions. schedulers: the schedulerNames whose pods may be bound; set by the deployment."""

    counted: CountedResources | None = None
    limits: BindConfiguration = EVERY_POD
    announcements: Announcements | None = None
    gangs: GangBarrier | None = None
    state: CacheState = UNREAD_CACHE
    schedulers: Collection[str] = BERTH_SCHEDULERS


NO_RULES = BindRules()


REFRESH_SECONDS = 10.0
"""Age in seconds at which the configuration is read again, if its table is on a network."""

RETRY_SECONDS = 1.0
"""The same age after a failed read: shorter, because `berth config apply` waits for one interval only."""


class RulesInForce:
    """Reads and caches the rules in force in one warm environment. Thread-safe."""

    def __init__(
        self,
        read_hash: Callable[[], str],
        configurations: Configurations,
        reservations: Reservations,
        clock: Clock,
        warn: Callable[[str], None],
        loss: CountingLossCheck,
        announcements: Announcements | None = None,
        gangs: Callable[[], GangBarrier] | None = None,
        refresh_seconds: float = REFRESH_SECONDS,
        right: Callable[[], CountingRight | None] = lambda: None,
        schedulers: Collection[str] = BERTH_SCHEDULERS,
        cache: NodeCache | None = None,
    ) -> None:
        """Prepare the rules. read_hash: reads the applied configuration's hash from the head. warn: called with
        failures that do not fail the call. announcements: for configurations with rules about other pods; None if there
        is no log. gangs: for configurations that enable gangs; None if there is no table. refresh_seconds: the age at
        which the rules are read again; 0 if reads do not use a network. right, cache: see CountedResources. schedulers:
        see BindRules."""
        self._read_hash = read_hash
        self._configurations = configurations
        self._reservations = reservations
        self._announcements = announcements
        self._gangs = gangs
        self._clock = clock
        self._warn = warn
        self._loss = loss
        self._refresh_seconds = refresh_seconds
        self._right, self._schedulers, self._cache = right, schedulers, cache
        self._last: tuple[BindRules, Instant, float] | None = None
        """The rules, the start of their read, and the age in seconds up to which they are used."""

    def current(self) -> BindRules:
        """Return the rules in force; if they cannot be read, the rules of the last known configuration.

        Raises CountingLost if the configuration does not count although the ledger does, and TableUnavailable or
        ConfigurationInvalid if a configuration has not been read yet: a bind that does not count could assign a
        resource twice.
        """
        now, last = self._clock.now(), self._last
        if last is not None and now.longest_since(last[1]) < last[2]:
            return last[0]
        try:
            last = self._read(), now, self._refresh_seconds
        except (TableUnavailable, ConfigurationInvalid) as error:
            if last is None:
                raise
            self._warn(f"{error}; what was counted before is counted")
            last = last[0], now, min(RETRY_SECONDS, self._refresh_seconds)
        self._last = last
        return last[0]

    def _read(self) -> BindRules:
        applied = self._read_hash()
        configured = self._configurations.at(applied)
        counting = configured.policy.counting
        announcements = self._announcements if configured.policy.reads_other_pods else None
        gangs = self._gangs() if self._gangs is not None and configured.policy.gangs.enabled else None
        state = CacheState(configuration_hash=applied, decisions=configured.document.decisions)
        if not counting.counts:
            self._loss.raise_if_lost()
        counted = None
        if counting.counts:
            counted = CountedResources(counting, self._reservations, self._right(), self._cache)
        return BindRules(counted, configured.bind, announcements, gangs, state, self._schedulers)


NOT_HELD = BindResult(
    BindOutcome.NO_LEDGER, f"no watcher has acquired the Lease {NAMESPACE}/{NAME} for the ledger of counted resources"
)
TAKEOVER = BindResult(BindOutcome.NO_LEDGER, "the ledger of counted resources is rebuilt after another server's")


class CountingRight:
    """Checks whether this store counts the cluster's resources. Of several stores at most one counts them. Each warm
    environment has its own instance. Thread-safe."""

    def __init__(self, lease: LedgerLease, store: StoreIdentity) -> None:
        self._lease = lease
        self._store = store
        self._identity: str | None = None

    def refusal(self, timeout: float) -> BindResult | None:
        """Return a refusal if bind must not reserve, or None. Call this after reading the pod. timeout: in seconds."""
        found = self._lease.holding(timeout)
        if isinstance(found, Unavailable):
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, found.reason)
        if found is None:
            return NOT_HELD
        try:
            return self._refusal(found)
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))

    def _refusal(self, found: Holding) -> BindResult | None:
        if not found.holder:
            return NOT_HELD
        if found.holder != self._identity:
            # Read the identity again: a recreated table has a new identity.
            self._identity = self._store.get()
        if found.holder != self._identity:
            return BindResult(BindOutcome.COUNTED_ELSEWHERE, counted_elsewhere(found.holder))
        return None if found.is_counting else TAKEOVER
