"""GET /gangs, /reservations and /users: what the tables and the API server have, or why they cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from berth.configuration.store import Configurations
from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.item import Domain
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import EndpointSettings
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects.pod import PodKey
from berth_cli.ledger.claims import ClaimSources
from berth_cli.ledger.reservations import cells, warnings
from berth_cli.server.endpoints.state import GANGS, RESERVATIONS, USERS, User, state_endpoints
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.events import http_event
from tests.builders.gang_items import claim, gang, intent
from tests.builders.gangs import member_object
from tests.builders.nodes import node_with
from tests.builders.planned import gang_configuration
from tests.fakes.published import PublishedCluster

NOW = 1_800_000_000.0
LICENCE = "example.com/licence"


def answer(
    route: str,
    ledger: InMemoryLedgerTable | None = None,
    gangs: InMemoryGangTable | None = None,
    users: Mapping[str, User] | None = None,
    *,
    has_gangs: bool = False,
) -> tuple[int, Any]:
    cluster = PublishedCluster()
    cluster.publish("nodes", [node_with("n0", None, allocatable={"cpu": "4", "pods": "110"})])
    cluster.publish("pods", [member_object("other-0", "other", 2)])
    configuration = gang_configuration if has_gangs else BerthConfiguration
    sources = ClaimSources(cluster.table, Configurations(InMemoryConfigurationStore(cluster.item), configuration))
    opened = None if gangs is None else lambda: gangs
    endpoints = state_endpoints(EndpointSettings(), ledger, opened, sources, users or {}, lambda: NOW)
    found = endpoints[route].handle(http_event(None, route))
    return found["statusCode"], orjson.loads(found["body"])


def test_lists_open_and_waiting_gangs() -> None:
    table = InMemoryGangTable(InMemoryLedgerTable())
    table.put_domain(Domain(claim(until=NOW + 9), 1), Domain())
    table.put(gang([intent(until=NOW + 9)], at=NOW - 2), None)
    status, content = answer(GANGS, gangs=table, has_gangs=True)
    assert (status, content["open"], content["compared"]) == (200, "ml/train", True)
    assert [(each["gang"], each["state"], each["waitsFor"]) for each in content["gangs"]] == [
        ("ml/other", "waits-for-members", "1 of 2 members exist"),
        ("ml/train", "open", "1 of 2 members are in bind"),
    ]


def test_lists_the_reservations_of_the_ledger() -> None:
    ledger, pod = InMemoryLedgerTable(), PodKey("ml", "runs", "uid-runs")
    ledger.create(new_ledger("a", {LICENCE: 2}, {pod.uid: Entry(pod, EntryState.BOUND, "t", {LICENCE: 1}, NOW)}, 1))
    ledger.put_open(OpenReservation(PodKey("ml", "begins", "uid-begins"), "a", "t", {LICENCE: 1}, NOW - 2))
    status, content = answer(RESERVATIONS, ledger)
    assert status == 200
    assert [(each["pod"], each["state"], each["holds"]) for each in content["reservations"]] == [
        ("ml/begins", "announced", {LICENCE: 1}),
        ("ml/runs", "bound", {LICENCE: 1}),
    ]
    assert "bind has not confirmed it; the watcher reviews it in 28 s" in cells(content["reservations"][0], NOW)
    assert not list(warnings(content))


def test_lists_users_without_uid_and_extra_fields() -> None:
    info = {"username": "berth-watcher", "uid": "u", "groups": ["system:authenticated"], "extra": {"pod": ["p"]}}
    listed = {"watcher": {"username": "berth-watcher", "groups": ["system:authenticated"]}}
    assert answer(USERS, users={"watcher": lambda: info}) == (200, listed)


@pytest.mark.parametrize(
    ("route", "empty"),
    [
        pytest.param(GANGS, {"gangs": [], "open": None, "compared": False}, id="gangs are disabled"),
        pytest.param(RESERVATIONS, {"reservations": [], "nodes": [], "pools": []}, id="nothing is counted"),
        pytest.param(USERS, {}, id="a dump"),
    ],
)
def test_document_is_empty_if_its_source_does_not_exist(route: str, empty: object) -> None:
    assert answer(route) == (200, empty)


@pytest.mark.parametrize("route", [GANGS, RESERVATIONS, USERS])
def test_returns_503_if_the_source_cannot_be_read(monkeypatch: pytest.MonkeyPatch, route: str) -> None:
    def fails(*_: object) -> Any:
        raise (ClusterUnavailable if route == USERS else TableUnavailable)("no answer")

    ledger = InMemoryLedgerTable()
    gangs = InMemoryGangTable(ledger)
    monkeypatch.setattr(gangs, "gangs", fails)
    monkeypatch.setattr(ledger, "open_reservations", fails)
    assert answer(route, ledger, gangs, {"watcher": fails}) == (503, {"reason": "no answer"})
