"""GET /metrics of `berth serve`, for Prometheus. The deployed stack sends its metrics to CloudWatch instead."""

from __future__ import annotations

import time
from collections import Counter as Counted
from collections.abc import Callable, Mapping, Sequence

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from berth import __version__
from berth.ledger.gangs.item import GangState
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.runtime.http.endpoint import EndpointSettings, Page, PageEndpoint
from berth.runtime.http.events import HTTPEvent
from berth.scheduling.plugins.floating_resources import PoolLevel
from berth.upkeep.gangs import GangEvent, GangEventType
from berth_cli.server.endpoints import RequestOutcome

ROUTE = "GET /metrics"

CALLS = "berth_call_duration_seconds"
NO_NODE_FITS = "berth_no_node_fits_total"
GANG_EVENTS = "berth_gang_events_total"
GANG_COMMITS = "berth_gang_commit_seconds"
RECORDED_DECISIONS = "berth_recorded_decisions_total"

POOL_GAUGES = {
    "capacity": "Units of a floating pool.",
    "held": "Units of a floating pool that pods hold.",
    "waiting": "Pods that wait for a floating pool.",
}

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""The upper bounds of call durations in seconds. kube-scheduler's default timeout is 5 s (fact 5)."""

COMMIT_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The upper bounds of commit durations of gangs in seconds. Members may arrive one after another."""

disable_created_metrics()  # type: ignore[no-untyped-call]


class ServerMetrics:
    """Metrics of this process since its start. Thread-safe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Histogram(
            CALLS,
            "Duration of calls by verb and outcome.",
            ("verb", "outcome"),
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._no_node_fits = Counter(
            NO_NODE_FITS,
            "Calls for which no node fits, by the code of the main reason.",
            ("verb", "reason_code"),
            registry=self.registry,
        )
        self._gang_events = Counter(GANG_EVENTS, "What became of gangs.", ("happening",), registry=self.registry)
        self._gang_commits = Histogram(
            GANG_COMMITS,
            "From the first member in bind to the commit of its gang.",
            registry=self.registry,
            buckets=COMMIT_BUCKETS,
        )
        for each in GangEventType:
            self._gang_events.labels(each.value)

    def record_call(self, verb: str, outcome: str, milliseconds: float, reason_code: str = "") -> None:
        """Record the end of a call. reason_code: the code of the main reason, if no node fits."""
        self._calls.labels(verb, str(outcome)).observe(milliseconds / 1000)
        if reason_code:
            self._no_node_fits.labels(verb, str(reason_code)).inc()

    def record_gang_event(self, event: GangEvent) -> None:
        """Record an event of a gang. The watcher of this process has detected it."""
        self._gang_events.labels(event.type.value).inc()
        if event.type is GangEventType.COMMITTED:
            self._gang_commits.observe(event.seconds)


def metrics_endpoint(
    settings: EndpointSettings,
    metrics: ServerMetrics,
    cache: CacheTable,
    ledger: LedgerTable | None,
    gangs: Callable[[], GangTable] | None = None,
    wall: Callable[[], float] = time.time,
    recorded: Callable[[], Mapping[str, int]] = dict,
    levels: Callable[[Head | None], Sequence[PoolLevel]] = lambda _: (),
) -> PageEndpoint:
    """Return the endpoint. It reads the cache's head and, if the tables exist, open reservations and gangs.

    gangs: opens the gangs' table; None if there is no table. wall: returns the seconds since the epoch. recorded:
    returns the numbers of recorded and of dropped decisions. levels: returns the fullest floating pools of the state
    that this head names.
    """

    def page(_: HTTPEvent) -> Page:
        now = CollectorRegistry()
        Gauge("berth_build_info", "The release that runs.", ("version",), registry=now).labels(__version__).set(1)
        if results := recorded():
            text = "Decisions for the recording, by what became of them."
            decisions = Counter(RECORDED_DECISIONS, text, ("result",), registry=now)
            for result, number in results.items():
                decisions.labels(result).inc(number)
        outcome, detail = RequestOutcome.OK, ""
        try:
            add_state(now)
        except TableUnavailable as error:
            outcome, detail = RequestOutcome.TABLE_UNAVAILABLE, str(error)
        body = (generate_latest(now) + generate_latest(metrics.registry)).decode()
        headers = {"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
        return Page(outcome, {"statusCode": 200, "headers": headers, "body": body, "isBase64Encoded": False}, detail)

    def add_state(now: CollectorRegistry) -> None:
        """Add gauges of the tables' current state. Raises TableUnavailable."""
        head, at = cache.head(), wall()
        pointer = None if head is None else head.pointer
        if pointer is not None and not pointer.unreadable_reason:
            age, since = at - pointer.observation.observed_at, at - pointer.heartbeat
            Gauge("berth_cache_age_seconds", "Age of the data in the node cache.", registry=now).set(round(age, 3))
            heartbeat = Gauge("berth_cache_heartbeat_age_seconds", "Time since the last publication.", registry=now)
            heartbeat.set(round(since, 3))
        _add_pools(now, levels(head))
        if ledger is not None:
            reserved = len(ledger.open_reservations())
            Gauge("berth_open_reservations", "Reservations of pods that are being bound.", registry=now).set(reserved)
        if gangs is not None:
            states = Counted(item.state for item in gangs().gangs())
            by_state = Gauge("berth_gangs", "Gangs by the state of their last placement.", ("state",), registry=now)
            for state in GangState:
                by_state.labels(state.value).set(states[state])

    return PageEndpoint("metrics", settings, page)


def _add_pools(now: CollectorRegistry, levels: Sequence[PoolLevel]) -> None:
    for name, text in POOL_GAUGES.items() if levels else ():
        gauge = Gauge(f"berth_pool_{name}", text, ("pool",), registry=now)
        for level in levels:
            gauge.labels(level.pool).set(getattr(level, name))
