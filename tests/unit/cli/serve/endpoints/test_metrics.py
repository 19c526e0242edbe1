"""GET /metrics: calls, age of the cache and open reservations."""

from __future__ import annotations

from berth.ledger.gangs.item import GangState
from berth.ledger.nodes.entry import OpenReservation
from berth.nodecache.feed.table import CacheTable
from berth.runtime.http.endpoint import EndpointSettings
from berth.runtime.http.events import HTTPAnswer
from berth.scheduling.objects.pod import PodKey
from berth_cli.embedded_store.gang_table import InMemoryGangTable
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from berth_cli.serve.endpoints.metrics import MetricsEndpoint
from berth_cli.serve.endpoints.prometheus import CALLS, CONTENT_TYPE, NO_NODE_FITS, CallDurations
from tests.builders.events import http_event
from tests.builders.gang_items import gang, intent
from tests.builders.nodes import node
from tests.builders.prometheus_text import read_metrics
from tests.fakes.cache_tables import InterruptedCacheTable, outage
from tests.fakes.published import PublishedCluster
from tests.unit.lease.clocks import EnvironmentClock


def scrape(
    cache: CacheTable,
    clock: EnvironmentClock,
    ledger: InMemoryLedgerTable | None = None,
    gangs: InMemoryGangTable | None = None,
) -> HTTPAnswer:
    opened = None if gangs is None else lambda: gangs
    endpoint = MetricsEndpoint(EndpointSettings(), CallDurations(), cache, ledger, opened, clock.wall)
    return endpoint.handle(http_event(None, "GET /metrics"))


def published() -> PublishedCluster:
    cluster = PublishedCluster()
    cluster.publish_nodes([node("a")])
    return cluster


def test_answers_in_the_text_format() -> None:
    cluster = published()
    answer = scrape(cluster.table, cluster.clock)
    assert (answer["statusCode"], answer["headers"]) == (200, {"Content-Type": CONTENT_TYPE})
    assert answer["body"].endswith("\n")
    assert "# TYPE berth_call_duration_seconds histogram" in answer["body"].splitlines()


def test_prometheus_reads_every_line() -> None:
    cluster, ledger, calls = published(), InMemoryLedgerTable(), CallDurations()
    gangs = InMemoryGangTable(ledger)
    ledger.put_open(OpenReservation(PodKey("ml", "p", "uid-p"), "a", "attempt", {"example.com/licence": 1}, 0.0))
    for milliseconds in (0.2, 30.0, 9_000.0):
        calls.record("filter", "none-feasible", milliseconds, "NoLicence")
    endpoint = MetricsEndpoint(EndpointSettings(), calls, cluster.table, ledger, lambda: gangs, cluster.clock.wall)
    families = read_metrics(endpoint.handle(http_event(None, "GET /metrics"))["body"])
    assert {name: family.kind for name, family in families.items()}.items() >= {
        "berth_build_info": "gauge",
        CALLS: "histogram",
        NO_NODE_FITS: "counter",
        "berth_cache_age_seconds": "gauge",
        "berth_open_reservations": "gauge",
    }.items()
    assert [each.value for each in families[CALLS].samples if each.name == f"{CALLS}_count"] == [3]


def test_shows_age_of_the_cache() -> None:
    cluster = published()
    cluster.clock.advance(30)
    lines = scrape(cluster.table, cluster.clock)["body"].splitlines()
    assert "berth_cache_age_seconds 30.0" in lines
    assert "berth_cache_heartbeat_age_seconds 30.0" in lines


def test_shows_open_reservations_where_there_is_a_ledger() -> None:
    cluster, ledger = published(), InMemoryLedgerTable()
    ledger.put_open(OpenReservation(PodKey("ml", "p", "uid-p"), "a", "attempt", {"example.com/licence": 1}, 0.0))
    assert "berth_open_reservations 1" in scrape(cluster.table, cluster.clock, ledger)["body"].splitlines()
    assert "berth_open_reservations" not in scrape(cluster.table, cluster.clock)["body"]


def test_shows_gangs_by_state_where_there_is_a_table() -> None:
    cluster, gangs = published(), InMemoryGangTable(InMemoryLedgerTable())
    gangs.put(gang([intent()], state=GangState.COMMITTED), None)
    lines = scrape(cluster.table, cluster.clock, gangs=gangs)["body"].splitlines()
    assert 'berth_gangs{state="committed"} 1.0' in lines
    assert 'berth_gangs{state="open"} 0.0' in lines
    assert "berth_gangs" not in scrape(cluster.table, cluster.clock)["body"]


def test_unavailable_table_leaves_the_calls() -> None:
    cluster = published()
    answer = scrape(InterruptedCacheTable(cluster.table, {"head": outage}), cluster.clock)
    assert answer["statusCode"] == 200
    assert "berth_call_duration_seconds" in answer["body"]
    assert "berth_cache_age_seconds" not in answer["body"]
