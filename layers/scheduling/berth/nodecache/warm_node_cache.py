"""The node cache of a warm environment: what every call of a verb decides by, and the contract on its freshness.

Guarantees. A call decides on what was published when it read the head, or later, and never on data older than
`maxStaleness`. While the head cannot be read, what is in memory counts until it is that old.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from berth.extender.ports import Basis, CacheUnavailable, NodeCache
from berth.lease.clock import Clock, Instant
from berth.nodecache.configurations import ConfigurationInvalid, Configurations, Configured
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.snapshot_view import CachedCluster
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot import Snapshot


class WarmNodeCache(NodeCache):
    """Safe to share between threads."""

    def __init__(
        self,
        table: CacheTable,
        reader: NodeCacheReader[CachedCluster],
        configurations: Configurations,
        clock: Clock,
        warn: Callable[[str], None],
    ) -> None:
        """`warn` is told of troubles that the call survived."""
        self._table = table
        self._reader = reader
        self._configurations = configurations
        self._clock = clock
        self._warn = warn
        self._last: tuple[Head, Instant] | None = None

    def current(self) -> Basis:
        try:
            head = self._head()
            configured = self._configurations.at("" if head is None else head.configuration_hash)
            return Basis(configured.policy, self._cluster(head, configured))
        except (TableUnavailable, ConfigurationInvalid) as error:
            configured = self._configurations.last
            return Basis(configured.policy, CacheUnavailable(str(error), configured.node_cache.when_stale))

    def policy(self) -> Policy:
        try:
            head = self._head()
            return self._configurations.at("" if head is None else head.configuration_hash).policy
        except (TableUnavailable, ConfigurationInvalid) as error:
            self._warn(str(error))
            return self._configurations.last.policy

    def catch_up(self) -> int:
        """Fetch what is new, for nobody's sake but the next call's. The version reached; 0 for none."""
        self.current()
        return self._reader.version

    def _cluster(self, head: Head | None, configured: Configured) -> Snapshot | CacheUnavailable:
        rules = configured.node_cache
        try:
            snapshot = self._reader.at(head).snapshot
        except NothingPublished as error:
            return CacheUnavailable(str(error), rules.when_stale)
        observed_at = head.pointer.observation.observed_at if head and head.pointer else 0.0
        if self._clock.wall() - observed_at > rules.max_staleness:
            return CacheUnavailable(_stale(observed_at, rules.max_staleness), rules.when_stale)
        return snapshot

    def _head(self) -> Head | None:
        """The head as of now or, where the configuration allows it, as of a moment ago."""
        last, rules = self._last, self._configurations.last.node_cache
        now = self._clock.now()
        if last is not None and now.longest_since(last[1]) < rules.min_head_read_interval:
            return last[0]
        try:
            head = self._table.head_eventually() if rules.eventually_consistent else self._table.head()
        except TableUnavailable as error:
            if last is None:
                raise
            self._warn(f"{error}; what is in memory counts until it is {rules.max_staleness:g} s old")
            return last[0]
        if head is not None:
            self._last = head, now
        return head


def _stale(observed_at: float, max_staleness: float) -> str:
    # A moment and not an age: a text that changes from call to call would wake the pod each time (fact 17).
    at = datetime.fromtimestamp(observed_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"the node cache is of {at}, older than maxStaleness ({max_staleness:g} s); does the watcher run?"
