"""Items of gangs that another release left in the ledger's table; see docs/how-to/upgrade.md."""

from __future__ import annotations

from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.gangs.dynamodb_item import PARTITION
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import Domain, GangState, QueuedGang
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from tests.builders.gang_items import claim, gang, intent
from tests.builders.recordings import RELEASES, Item, recorded, table_of

AT = 1_800_000_000.5
DEMANDS = (Demand("example.com/gpumem", 30, percent=True), Demand("example.com/licence", 2))
SHARES = {"example.com/gpumem#0": 2400, "example.com/licence": 2}
COMMITTED = gang(
    [
        intent("train-0", until=AT, demands=DEMANDS, shares=SHARES, topology="zone-a"),
        intent("train-1", until=AT, topology="zone-a"),
    ],
    state=GangState.COMMITTED,
    at=AT,
    topology_key="topology.kubernetes.io/zone",
)
OPEN = gang([intent("eval-0", until=AT)], key=GangKey("ml", "eval"), at=AT)
DOMAIN = Domain(
    claim("eval", until=AT, opened_at=AT - 1),
    4,
    GangKey("ml", "large"),
    AT + 10,
    {GangKey("ml", "small"): QueuedGang(2, AT)},
)


def write_today(client: DynamoDBClient, name: str) -> None:
    """Write a committed gang, an open gang, and the domain."""
    table = DynamoDBGangTable(client, name)
    for item in (COMMITTED, OPEN):
        assert table.put(item, None)
    assert table.put_domain(DOMAIN, Domain())


def with_additions(item: Item) -> Item:
    """Return the item as the next release might write it."""
    added: dict[str, Any] = {"ofTheNextRelease": {"M": {"nested": {"L": [{"N": "1"}]}}}}
    if "intents" in item:
        intents = {uid: {"M": value["M"] | {"rack": {"S": "r1"}}} for uid, value in item["intents"]["M"].items()}
        added["intents"] = {"M": intents}
    return item | added | {"schema": {"N": str(int(item["schema"]["N"]) + 1)}}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("is_later", [False, True], ids=["as recorded", "with additions of the next release"])
def test_reads_gangs_of_every_release(release: str, is_later: bool, any_dynamodb: DynamoDBClient) -> None:
    items = [item for item in recorded(release, "ledger") if item["pk"]["S"] == PARTITION]
    with table_of(any_dynamodb, map(with_additions, items) if is_later else items, "S") as name:
        table = DynamoDBGangTable(any_dynamodb, name)
        found = tuple(table.gangs()), table.domain()
    assert found == ((OPEN, COMMITTED), DOMAIN)


def test_joins_a_gang_opened_by_the_next_release(any_dynamodb: DynamoDBClient) -> None:
    items = [with_additions(item) for item in recorded(RELEASES[-1], "ledger") if item["pk"]["S"] == PARTITION]
    with table_of(any_dynamodb, items, "S") as name:
        joined = DynamoDBGangTable(any_dynamodb, name).join(OPEN.key, OPEN.round, intent("eval-1", until=AT))
    assert joined is not None
    assert set(joined.intents) == {"uid-eval-0", "uid-eval-1"}


def test_assumes_defaults_for_missing_attributes(any_dynamodb: DynamoDBClient) -> None:
    """By default a gang does not have a topology key, the queue is empty, and the open gang was opened long ago."""
    items = [item for item in recorded(RELEASES[-1], "ledger") if item["pk"]["S"] == PARTITION]
    for item in items:
        optional = ("topologyKey",) if "intents" in item else ("openedAt", "minimum", "queue", "resting", "restUntil")
        for name in optional:
            item.pop(name, None)
        for value in item.get("intents", {"M": {}})["M"].values():
            value["M"].pop("topology", None)
    with table_of(any_dynamodb, items, "S") as name:
        table = DynamoDBGangTable(any_dynamodb, name)
        _, committed = table.gangs()
        assert (committed.topology_key, {each.topology for each in committed.intents.values()}) == ("", {""})
        assert table.domain() == Domain(claim("eval", until=AT), 4)
