"""The watcher function: it handles an event, logs one line and answers.

One invocation is a sequence of runs. Each run takes part in the election with the configuration that was applied when
it began; a new configuration ends it and starts the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid, Configurations
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.feed.watcher import RunResult, WatcherOutcome
from berth.runtime.adapters import CacheAdapters, cache_adapters
from berth.runtime.cluster import connect
from berth.runtime.cluster_settings import WatcherMode, WatcherSettings
from berth.runtime.telemetry.metrics import Metrics, measured_call
from berth.runtime.telemetry.telemetry import Telemetry, current_observer
from berth.runtime.watcher.watcher_run import Invocation, RunLimit, WatcherRun, restore_configuration

CONFIGURATION_SECONDS = 15.0
"""Seconds between two checks whether another configuration was applied."""


class LambdaContext(Protocol):
    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until Lambda ends the invocation."""


class WatcherFunction:
    """Handles the schedule's events. An event with a `mode` overrides the mode of the settings."""

    def __init__(
        self,
        settings: WatcherSettings,
        metrics: Metrics | None = None,
        on_new_leader: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Create the function. metrics: by default printed to the function's log. on_new_leader: see Invocation."""
        self._settings = settings
        self._adapters = cache_adapters(settings)
        self._on_new_leader, self._observer = on_new_leader, current_observer()
        self._metrics = metrics or Metrics()
        self._telemetry = Telemetry("watcher", self._metrics)

    def handle(self, event: object, context: LambdaContext) -> dict[str, str | int]:
        """Watch until the invocation's time is over. The answer is the result of the last run."""
        with measured_call():
            started = time.perf_counter()
            limit = RunLimit(lambda: context.get_remaining_time_in_millis() / 1000, time.time)
            invocation = Invocation(
                self._settings, self._mode(event), limit, self._metrics, self._on_new_leader, self._observer
            )
            result = watch(invocation, self._adapters)
            self._telemetry.ended(
                result.outcome,
                detail=result.summary,
                milliseconds=(time.perf_counter() - started) * 1000,
                failed=result.failed,
            )
        return {
            "outcome": result.outcome,
            "publications": result.publications,
            "objects": result.objects,
            "nodes": result.nodes,
            "reason": result.reason,
        }

    def _mode(self, event: object) -> WatcherMode:
        mode = event.get("mode") if isinstance(event, dict) else None
        return WatcherMode(mode) if mode in set(WatcherMode) else self._settings.mode


def watch(invocation: Invocation, adapters: CacheAdapters) -> RunResult:
    """Run until the invocation's time is over or this candidate is not needed. Return failures as outcomes."""
    try:
        connection = connect(invocation.settings)
        while True:
            restore_configuration(adapters)
            applied = _AppliedConfiguration(adapters.tables.cache, adapters.configurations, time.monotonic)
            run = WatcherRun(invocation, adapters, connection)
            result = run.execute(applied.configured, applied.is_outdated)
            if invocation.limit.is_over() or not (applied.is_outdated() or run.has_stale_epoch):
                return result
    except ClusterUnavailable as error:
        return RunResult(WatcherOutcome.CLUSTER_UNAVAILABLE, reason=str(error))
    except TableUnavailable as error:
        return RunResult(WatcherOutcome.TABLE_UNAVAILABLE, reason=str(error))
    except ConfigurationInvalid as error:
        return RunResult(WatcherOutcome.CONFIGURATION_INVALID, reason=str(error))


class _AppliedConfiguration:
    """The configuration that a run begins with. The constructor raises ConfigurationInvalid and TableUnavailable."""

    def __init__(self, table: CacheTable, configurations: Configurations, monotonic: Callable[[], float]) -> None:
        self._table, self._monotonic = table, monotonic
        self._hash = _hash(table.head())
        self.configured: ActiveConfiguration = configurations.at(self._hash)
        self._checked_at = monotonic()
        self._is_outdated = False

    def is_outdated(self) -> bool:
        """Return whether another configuration has been applied. Checks every 15 s; once True it stays True."""
        now = self._monotonic()
        if not self._is_outdated and now - self._checked_at >= CONFIGURATION_SECONDS:
            self._checked_at = now
            try:
                # This costs half a read unit. It may miss a change of the last seconds, which the next check finds.
                self._is_outdated = _hash(self._table.head_eventually()) != self._hash
            except TableUnavailable:
                return False
        return self._is_outdated


def _hash(head: Head | None) -> str:
    return "" if head is None else head.configuration_hash
