"""The console's list of gangs, and the explanation of a gang."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.item import Domain, GangItem
from berth.ledger.gangs.table import GangTable
from berth.scheduling.objects import Pod
from berth_cli.console.access import Refusal
from berth_cli.console.cluster import NotRead, ObservedCluster
from berth_cli.console.feed import Feed
from berth_cli.console.gangs import GangDocuments
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import claim, gang, intent
from tests.builders.gangs import member as gang_member
from tests.builders.planned import gang_configuration
from tests.unit.cli.console.cases import DEFAULT, NOW, HandDrivenSource, node, snapshot

GANGS = ActiveConfiguration.of(gang_configuration())
NODES = [node("n1", allocatable={"cpu": "4", "pods": "110"})]


def member(name: str, of: str = "train", cpu: str = "2", **fields: Any) -> Pod:
    return gang_member(name, of, 2, requests={"cpu": cpu}, **fields)


def observed(*pods: Pod, configured: ActiveConfiguration = GANGS) -> ObservedCluster:
    return ObservedCluster(snapshot(NODES, pods), NOW, configured)


def documents(
    found: ObservedCluster | NotRead, monotonic: Callable[[], float] = lambda: 0.0, table: GangTable | None = None
) -> GangDocuments:
    feed = Feed(HandDrivenSource(found), lambda: NOW)
    feed.observe(0)
    return GangDocuments(feed, None if table is None else lambda: table, monotonic, lambda: NOW)


def listed(found: ObservedCluster, table: GangTable | None = None) -> Any:
    answer = documents(found, table=table).gangs({})
    assert isinstance(answer, bytes)
    return orjson.loads(answer)


def explained(found: ObservedCluster, name: str, monotonic: Callable[[], float] = lambda: 0.0) -> dict[str, Any]:
    answer = documents(found, monotonic).gang({"gang": name})
    assert isinstance(answer, bytes)
    content: dict[str, Any] = orjson.loads(answer)
    return content


def test_open_gang_is_read_from_the_table() -> None:
    table = InMemoryGangTable(InMemoryLedgerTable())
    table.put_domain(Domain(claim(until=NOW + 9), 1), Domain())
    table.put(gang([intent(until=NOW + 9)], at=NOW - 2), None)
    found = listed(observed(), table)
    assert (found["open"], [each["state"] for each in found["gangs"]]) == ("ml/train", ["open"])


def test_unreadable_table_is_reported_with_its_cause() -> None:
    class Away(InMemoryGangTable):
        def gangs(self) -> Sequence[GangItem]:
            raise TableUnavailable("the table is throttled")

    refused = documents(observed(), table=Away(InMemoryLedgerTable())).gangs({})
    assert isinstance(refused, Refusal)
    assert refused.reason == "the table is throttled"
    assert isinstance(documents(NotRead("not yet")).gangs({}), Refusal)


@pytest.mark.parametrize(
    ("found", "name", "status"),
    [
        pytest.param(NotRead("not yet"), "ml/train", 503, id="before the first read"),
        pytest.param(observed(), "train", 400, id="no namespace"),
        pytest.param(observed(), "ml/train", 404, id="unknown gang"),
        pytest.param(observed(member("a-0"), configured=DEFAULT), "ml/train", 503, id="gangs are disabled"),
    ],
)
def test_request_for_a_gang_that_cannot_be_explained_is_rejected(
    found: ObservedCluster | NotRead, name: str, status: int
) -> None:
    answer = documents(found).gang({"gang": name})
    assert isinstance(answer, Refusal)
    assert answer.status == status
