"""GET /metrics of `berth serve`. The deployed stack has its metrics in CloudWatch instead."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from berth import __version__
from berth.extender.deadline import Deadline
from berth.ledger.gangs.item import GangState
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPAnswer, HTTPEvent
from berth_cli.serve.endpoints.prometheus import CONTENT_TYPE, CallDurations, gauge, gauges

ROUTE = "GET /metrics"


class MetricsOutcome(StrEnum):
    """UNAVAILABLE: a table could not be read; the answer lacks the gauges of its state."""

    OK = "ok"
    UNAVAILABLE = "failure-table-unavailable"


class MetricsEndpoint(Endpoint):
    """Reads the head of the cache, and the open reservations and the gangs where there is a ledger."""

    def __init__(
        self,
        settings: EndpointSettings,
        calls: CallDurations,
        cache: CacheTable,
        ledger: LedgerTable | None,
        gangs: Callable[[], GangTable] | None = None,
        wall: Callable[[], float] = time.time,
        more: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`gangs`: opens their table; None where there is none. `wall`: seconds since the epoch.
        `more`: lines of other metrics."""
        super().__init__("metrics", settings)
        self._calls, self._cache, self._ledger, self._gangs, self._wall = calls, cache, ledger, gangs, wall
        self._more = more

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        lines = [*gauge("berth_build_info", "The release that runs.", 1, {"version": __version__})]
        lines += self._calls.lines()
        lines += self._more()
        detail = ""
        try:
            lines += self._state()
        except TableUnavailable as error:
            detail = str(error)
        self._log_ended(
            MetricsOutcome.UNAVAILABLE if detail else MetricsOutcome.OK, detail, caller, started, failed=bool(detail)
        )
        body = "\n".join([*lines, ""])
        return {"statusCode": 200, "headers": {"Content-Type": CONTENT_TYPE}, "body": body, "isBase64Encoded": False}

    def _state(self) -> Iterator[str]:
        head, now = self._cache.head(), self._wall()
        pointer = None if head is None else head.pointer
        if pointer is not None and not pointer.unreadable_reason:
            age = now - pointer.observation.observed_at
            yield from gauge("berth_cache_age_seconds", "Age of the data in the node cache.", round(age, 3))
            since = now - pointer.heartbeat
            yield from gauge("berth_cache_heartbeat_age_seconds", "Time since the last publication.", round(since, 3))
        if self._ledger is not None:
            reserved = len(self._ledger.open_reservations())
            yield from gauge("berth_open_reservations", "Reservations of pods that are being bound.", reserved)
        if self._gangs is not None:
            states = Counter(item.state for item in self._gangs().gangs())
            by_state = {state.value: float(states[state]) for state in GangState}
            yield from gauges("berth_gangs", "Gangs by the state of their last placement.", "state", by_state)
