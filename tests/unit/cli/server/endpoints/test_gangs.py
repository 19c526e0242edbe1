"""GET /gangs: the gangs in the ledger's table and those in the node cache."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from berth.configuration.store import Configurations
from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.item import Domain, GangItem
from berth.ledger.gangs.table import GangTable
from berth.runtime.http.endpoint import EndpointSettings
from berth.runtime.http.events import HTTPAnswer
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.ledger.claims import ClaimSources
from berth_cli.server.endpoints.state import GANGS, state_endpoints
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


def answer(table: GangTable | None, default: BerthConfiguration | None = None) -> HTTPAnswer:
    cluster = PublishedCluster()
    cluster.publish("nodes", [node_with("n0", None, allocatable={"cpu": "4", "pods": "110"})])
    cluster.publish("pods", [member_object("other-0", "other", 2)])
    configurations = Configurations(InMemoryConfigurationStore(cluster.item), lambda: default or gang_configuration())
    published = ClaimSources(cluster.table, configurations)
    opened = None if table is None else lambda: table
    return state_endpoints(EndpointSettings(), None, opened, published, {}, lambda: NOW)[GANGS].handle(
        http_event(None, GANGS)
    )


def test_document_lists_open_and_waiting_gangs() -> None:
    table = InMemoryGangTable(InMemoryLedgerTable())
    table.put_domain(Domain(claim(until=NOW + 9), 1), Domain())
    table.put(gang([intent(until=NOW + 9)], at=NOW - 2), None)
    found = answer(table)
    assert found["statusCode"] == 200
    content = orjson.loads(found["body"])
    assert (content["open"], content["compared"]) == ("ml/train", True)
    assert [(each["gang"], each["state"], each["waitsFor"]) for each in content["gangs"]] == [
        ("ml/other", "waits-for-members", "1 of 2 members exist"),
        ("ml/train", "open", "1 of 2 members are in bind"),
    ]


def test_document_is_empty_if_gangs_are_disabled() -> None:
    content = orjson.loads(answer(None, BerthConfiguration())["body"])
    assert content == {"gangs": [], "open": None, "compared": False}


def test_returns_503_if_the_gangs_cannot_be_read() -> None:
    class Away(InMemoryGangTable):
        def gangs(self) -> Sequence[GangItem]:
            raise TableUnavailable("the table is throttled")

    found = answer(Away(InMemoryLedgerTable()))
    assert (found["statusCode"], orjson.loads(found["body"])) == (503, {"reason": "the table is throttled"})
