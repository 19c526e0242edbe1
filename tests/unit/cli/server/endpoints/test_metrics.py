"""GET /metrics: calls, gangs, age of the cache and open reservations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from berth.ledger.gangs.item import GangState
from berth.ledger.nodes.entry import OpenReservation
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.table import CacheTable
from berth.runtime.http.endpoint import EndpointSettings
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.plugins.floating_resources import PoolLevel
from berth.upkeep.gangs import GangEvent, GangEventType
from berth_cli.server.endpoints.metrics import (
    BUCKETS,
    CALLS,
    GANG_COMMITS,
    GANG_EVENTS,
    NO_NODE_FITS,
    RECORDED_DECISIONS,
    ServerMetrics,
    metrics_endpoint,
)
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.events import http_event
from tests.builders.gang_items import TRAIN, gang, intent
from tests.builders.nodes import node
from tests.fakes.cache_tables import InterruptedCacheTable, outage
from tests.fakes.published import PublishedCluster


def published() -> PublishedCluster:
    cluster = PublishedCluster()
    cluster.publish_nodes([node("a")])
    return cluster


def key(name: str, **labels: str) -> str:
    return f"{name}{sorted(labels.items())}"


def samples(
    metrics: ServerMetrics,
    cluster: PublishedCluster | None = None,
    cache: CacheTable | None = None,
    ledger: InMemoryLedgerTable | None = None,
    gangs: InMemoryGangTable | None = None,
    recorded: Mapping[str, int] | None = None,
    levels: Callable[[Head | None], list[PoolLevel]] = lambda _: [],
) -> dict[str, float]:
    """Return the samples that Prometheus reads, by name and labels."""
    cluster = cluster or published()
    endpoint = metrics_endpoint(
        EndpointSettings(),
        metrics,
        cache or cluster.table,
        ledger,
        None if gangs is None else lambda: gangs,
        cluster.clock.wall,
        lambda: recorded or {},
        levels,
    )
    answer = endpoint.handle(http_event(None, "GET /metrics"))
    assert answer["statusCode"] == 200
    return {
        key(each.name, **each.labels): each.value
        for family in text_string_to_metric_families(answer["body"])
        for each in family.samples
    }


def test_counts_calls_by_verb_outcome_and_duration() -> None:
    metrics = ServerMetrics()
    for milliseconds in (0.5, 1.0, 2.0, 9000.0):
        metrics.record_call("filter", "decided", milliseconds)
    metrics.record_call("bind", "failure-internal", 1)
    found, labels = samples(metrics), {"verb": "filter", "outcome": "decided"}
    buckets = [found[key(f"{CALLS}_bucket", **labels, le=str(bound))] for bound in (*BUCKETS, "+Inf")]
    assert (buckets[:2], buckets[-2:]) == ([2, 3], [3, 4])
    assert found[key(f"{CALLS}_sum", **labels)] == pytest.approx(9.0035)
    assert found[key(f"{CALLS}_count", verb="bind", outcome="failure-internal")] == 1


def test_counts_calls_without_a_feasible_node_by_reason() -> None:
    metrics = ServerMetrics()
    for code in ("UntoleratedTaint", "", "UntoleratedTaint"):
        metrics.record_call("filter", "none-feasible", 1, code)
    assert {name: value for name, value in samples(metrics).items() if name.startswith(NO_NODE_FITS)} == {
        key(NO_NODE_FITS, verb="filter", reason_code="UntoleratedTaint"): 2
    }


def test_counts_gang_events_and_commit_durations() -> None:
    metrics = ServerMetrics()
    for event in (
        GangEvent(GangEventType.OPENED, TRAIN),
        GangEvent(GangEventType.COMMITTED, TRAIN, 4, seconds=0.7),
        GangEvent(GangEventType.COMMITTED, TRAIN, 4, seconds=400.0),
        GangEvent(GangEventType.DEGRADED, TRAIN, 3, minimum=4),
    ):
        metrics.record_gang_event(event)
    found = samples(metrics)
    happened = {"opened": 1, "committed": 2, "timed-out": 0, "degraded": 1, "forgotten": 0}
    assert {name: value for name, value in found.items() if name.startswith(GANG_EVENTS)} == {
        key(GANG_EVENTS, happening=happening): count for happening, count in happened.items()
    }
    buckets = [found[key(f"{GANG_COMMITS}_bucket", le=bound)] for bound in ("0.5", "1.0", "300.0", "+Inf")]
    assert (buckets, found[key(f"{GANG_COMMITS}_count")]) == ([0, 1, 1, 2], 2)


def test_counts_recorded_decisions_by_result() -> None:
    assert samples(ServerMetrics(), recorded={"written": 3})[key(RECORDED_DECISIONS, result="written")] == 3


def test_reports_age_of_the_cache() -> None:
    cluster = published()
    cluster.clock.advance(30)
    found = samples(ServerMetrics(), cluster)
    assert [found[key(f"berth_cache_{name}")] for name in ("age_seconds", "heartbeat_age_seconds")] == [30, 30]


def test_reports_reservations_and_gangs_of_the_tables() -> None:
    ledger, gangs = InMemoryLedgerTable(), InMemoryGangTable(InMemoryLedgerTable())
    ledger.put_open(OpenReservation(PodKey("ml", "p", "uid-p"), "a", "attempt", {"example.com/licence": 1}, 0.0))
    gangs.put(gang([intent()], state=GangState.COMMITTED), None)
    found = samples(ServerMetrics(), ledger=ledger, gangs=gangs)
    assert found[key("berth_open_reservations")] == 1
    assert [found[key("berth_gangs", state=state)] for state in ("committed", "open")] == [1, 0]


def test_reports_three_gauges_for_each_floating_pool_at_the_current_head() -> None:
    cluster, asked = published(), list[Head | None]()

    def levels(head: Head | None) -> list[PoolLevel]:
        asked.append(head)
        return [PoolLevel("example.com/seat@cluster", 12, 13, 5), PoolLevel("example.com/conn@zone=a", 4, 1, 0)]

    found = samples(ServerMetrics(), cluster, levels=levels)
    assert {name: value for name, value in found.items() if name.startswith("berth_pool")} == {
        key(f"berth_pool_{name}", pool=pool): value
        for pool, values in {"example.com/seat@cluster": (12, 13, 5), "example.com/conn@zone=a": (4, 1, 0)}.items()
        for name, value in zip(("capacity", "held", "waiting"), values, strict=True)
    }
    assert asked == [cluster.table.head()]


def test_returns_only_call_metrics_if_other_sources_are_unavailable() -> None:
    cluster, metrics = published(), ServerMetrics()
    metrics.record_call("filter", "decided", 1)
    found = samples(metrics, cluster, cache=InterruptedCacheTable(cluster.table, {"head": outage}))
    assert found[key(f"{CALLS}_count", verb="filter", outcome="decided")] == 1
    others = ("berth_cache_age", RECORDED_DECISIONS, "berth_open_reservations", "berth_gangs", "berth_pool")
    assert not [name for name in found if name.startswith(others)]
