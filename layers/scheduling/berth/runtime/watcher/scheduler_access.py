"""The leader's check whether schedulers can call the verbs: pods that wait in vain, and certificates that end.

The API counts only calls that reach it. A stopped scheduler does not call, and an expired certificate, DNS or the
network end a call before the API.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.authentication.outcomes import CredentialStoreUnavailable
from berth.authentication.stores import AllowListStore
from berth.runtime.adapters import log
from berth.runtime.telemetry.watcher_metrics import WatcherMetrics
from berth.upkeep.undecided_pods import UndecidedPods

INTERVAL_SECONDS = 30.0
"""Every minute needs a value: the alarm looks at the smallest one of each minute."""

PATIENCE_SECONDS = 60.0
"""The alarm's threshold. A scheduler that starts again, or waits for a slow bind, takes less."""


class SchedulerAccess:
    """Measure in one leadership; for one thread."""

    def __init__(
        self,
        pods: UndecidedPods,
        allow_list: Callable[[], AllowListStore] | None,
        metrics: WatcherMetrics,
        wall: Callable[[], float],
    ) -> None:
        """allow_list: None without a table. wall: seconds since the epoch."""
        self._pods = pods
        self._allow_list = allow_list
        self._metrics = metrics
        self._wall = wall

    def step(self) -> float:
        """Measure. Return the seconds until the next measurement."""
        self._metrics.scheduler_access(self._undecided_seconds(), self._certificate_seconds())
        return INTERVAL_SECONDS

    def _undecided_seconds(self) -> float:
        pod = self._pods.oldest()
        if pod is None:
            return 0.0
        seconds = max(0.0, self._wall() - pod.since)
        if seconds >= PATIENCE_SECONDS:
            why = "its calls of Berth fail" if pod.call_failed else "it does not run, or is not ready"
            log.warning("%s waits for its scheduler %s for %d s: %s", pod.name, pod.scheduler, seconds, why)
        return seconds

    def _certificate_seconds(self) -> float | None:
        """Return the seconds until the first client certificate ends; None if that is unknown."""
        if self._allow_list is None:
            return None
        try:
            end = self._allow_list().read().first_end()
        except CredentialStoreUnavailable:
            return None  # with Basic credentials there is no list; with mutual TLS the verbs report it
        return None if end is None else end - self._wall()
