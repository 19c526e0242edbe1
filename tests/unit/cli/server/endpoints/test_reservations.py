"""GET /reservations, and how `berth reservations list` reads it."""

from __future__ import annotations

import orjson

from berth.configuration.store import Configurations
from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.table import LedgerTable
from berth.runtime.http.endpoint import EndpointSettings
from berth.runtime.http.events import HTTPAnswer
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects.pod import PodKey
from berth_cli.ledger.claims import ClaimSources
from berth_cli.ledger.reservations import cells, warnings
from berth_cli.server.endpoints.state import RESERVATIONS, state_endpoints
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.events import http_event
from tests.fakes.published import PublishedCluster

NOW = 1_800_000_000.0
LICENCE = "example.com/licence"


def answer(ledger: LedgerTable | None) -> HTTPAnswer:
    cluster = PublishedCluster()
    configurations = Configurations(InMemoryConfigurationStore(cluster.item), BerthConfiguration)
    sources = ClaimSources(cluster.table, configurations)
    endpoints = state_endpoints(EndpointSettings(), ledger, None, sources, {}, lambda: NOW)
    return endpoints[RESERVATIONS].handle(http_event(None, RESERVATIONS))


def test_document_contains_the_rows_of_the_ledger() -> None:
    ledger, pod = InMemoryLedgerTable(), PodKey("ml", "runs", "uid-runs")
    ledger.create(new_ledger("a", {LICENCE: 2}, {pod.uid: Entry(pod, EntryState.BOUND, "t", {LICENCE: 1}, NOW)}, 1))
    ledger.put_open(OpenReservation(PodKey("ml", "begins", "uid-begins"), "a", "t", {LICENCE: 1}, NOW - 2))
    found = answer(ledger)
    assert found["statusCode"] == 200
    content = orjson.loads(found["body"])
    reservations = content["reservations"]
    assert [(each["pod"], each["state"], each["holds"]) for each in reservations] == [
        ("ml/begins", "announced", {LICENCE: 1}),
        ("ml/runs", "bound", {LICENCE: 1}),
    ]
    assert "bind has not confirmed it; the watcher reviews it in 28 s" in cells(reservations[0], NOW)
    assert not list(warnings(content))


def test_document_is_empty_if_nothing_is_counted() -> None:
    assert orjson.loads(answer(None)["body"]) == {"reservations": [], "nodes": [], "pools": []}


def test_returns_503_if_the_ledger_cannot_be_read() -> None:
    class Away(InMemoryLedgerTable):
        def open_reservations(self) -> list[OpenReservation]:
            raise TableUnavailable("the table is throttled")

    found = answer(Away())
    assert (found["statusCode"], orjson.loads(found["body"])) == (503, {"reason": "the table is throttled"})
