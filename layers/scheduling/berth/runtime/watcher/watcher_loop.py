"""One run of the watcher function: candidacies, one after the other, each under the configuration then in force."""

from __future__ import annotations

import time

from berth.configuration.store import ConfigurationInvalid, Configurations, Configured
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.feed.watcher import RunResult, WatcherOutcome
from berth.runtime.adapters import cache_adapters
from berth.runtime.cluster import connect
from berth.runtime.watcher.watcher_run import Run, WatcherRun

CONFIGURATION_SECONDS = 15.0
"""How often a watcher looks whether another configuration was applied."""


def watch(run: Run) -> RunResult:
    """Until the function's time is over or there is nothing to do."""
    adapters = cache_adapters(run.settings)
    try:
        connection = connect(run.settings)
        while True:
            in_force = _InForce(adapters.table, adapters.configurations)
            done = WatcherRun(run, adapters, connection).stand(in_force.configured, in_force.is_past)
            if run.is_over() or not in_force.is_past():
                return done
    except ClusterUnavailable as error:
        return RunResult(WatcherOutcome.CLUSTER_UNAVAILABLE, reason=str(error))
    except TableUnavailable as error:
        return RunResult(WatcherOutcome.TABLE_UNAVAILABLE, reason=str(error))
    except ConfigurationInvalid as error:
        return RunResult(WatcherOutcome.CONFIGURATION_INVALID, reason=str(error))


class _InForce:
    """The configuration that a candidacy begins with. Raises ConfigurationInvalid and TableUnavailable when made."""

    def __init__(self, table: CacheTable, configurations: Configurations) -> None:
        self._table = table
        self._hash = self._current()
        self.configured: Configured = configurations.at(self._hash)
        self._looked_at = time.monotonic()
        self._is_past = False

    def is_past(self) -> bool:
        """Whether another has been applied since; looks every 15 s, and once it is past it stays so: several ask."""
        now = time.monotonic()
        if not self._is_past and now - self._looked_at >= CONFIGURATION_SECONDS:
            self._looked_at = now
            try:
                self._is_past = self._current() != self._hash
            except TableUnavailable:
                return False
        return self._is_past

    def _current(self) -> str:
        head = self._table.head()
        return "" if head is None else head.configuration_hash
