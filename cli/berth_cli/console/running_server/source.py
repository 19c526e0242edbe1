"""The state of a running `berth serve`, without its cluster: a server gives out neither nodes nor pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from pydantic import ValidationError

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.cluster.source import ClusterNotObserved, ClusterSource, ObservedCluster, SourceKind
from berth_cli.console.running_server.server import NoAnswer, RunningServer


class ServerSource(ClusterSource):
    """Each look asks /healthz."""

    def __init__(self, server: RunningServer, wall: Callable[[], float], closed: Event) -> None:
        """`wall`: seconds since the epoch. `closed`: set by `close`, which so ends the wait for the next look."""
        self._server, self._wall, self._closed = server, wall, closed
        self._empty = Snapshot.of(())
        self._known: tuple[object, ActiveConfiguration, str] = (None, ActiveConfiguration.of(BerthConfiguration()), "")
        self._last: ObservedCluster | None = None
        self._has_asked = False

    @property
    def kind(self) -> SourceKind:
        return SourceKind.SERVER

    @property
    def name(self) -> str:
        return self._server.address

    def observe(self, timeout: float) -> ObservedCluster | ClusterNotObserved:
        if self._has_asked:
            self._closed.wait(timeout)
        self._has_asked = True
        health = self._server.health()
        if not isinstance(health, NoAnswer):
            self._last = self._observed(health)
            return self._last
        if self._last is None:
            return ClusterNotObserved(health.reason)
        return ObservedCluster(self._empty, self._last.observed_at, self._last.configured, health.reason)

    def close(self) -> None:
        self._closed.set()

    def _observed(self, health: Mapping[str, Any]) -> ObservedCluster:
        configured, problem = self._configured(health.get("configuration"))
        age, reason = health.get("observedAgeSeconds"), health.get("reason")
        # A server without data says no age: it is as old as its answer, and the problem says more.
        observed_at = self._wall() - (age if isinstance(age, int | float) else 0.0)
        return ObservedCluster(self._empty, observed_at, configured, reason if isinstance(reason, str) else problem)

    def _configured(self, document: object) -> tuple[ActiveConfiguration, str]:
        """And why it is not the server's."""
        if self._known[0] is None or self._known[0] != document:
            self._known = (document, *read_configuration(document, self._server.address))
        return self._known[1:]


def read_configuration(document: object, address: str) -> tuple[ActiveConfiguration, str]:
    """The configuration of a server of this address, as its /healthz says it; else the default one, and why."""
    try:
        if isinstance(document, dict):
            return ActiveConfiguration.of(BerthConfiguration.model_validate(document)), ""
        problem = f"{address} does not say its configuration"
    except (ValidationError, ImportError):
        # Plugins of its own are the usual case.
        problem = f"the configuration of {address} cannot be read here; give --plugins DIR for plugins of your own"
    return ActiveConfiguration.of(BerthConfiguration()), problem
