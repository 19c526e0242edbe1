"""Size of a gang's item by DynamoDB's rules, and the handling of a gang that does not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome
from berth.ledger.gangs.dynamodb_item import MEMBERS_BYTES, gang_item, member_bytes
from berth.ledger.gangs.item import GangItem, GangState, Intent
from berth.ledger.gangs.table import NotTransacted, Transaction
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.objects.pod import PodKey
from berth_cli.server.store.gang_table import InMemoryGangTable
from tests.builders.gang_items import gang
from tests.fakes.dynamodb_units import item_size
from tests.simulation.gangs.binds import ZONE, GangWorld, gang_of

MAX_ITEM = 400 * 1024
MEMORY, LICENCE = "nvidia.com/gpumem", "example.com/licence"
AT = 1_800_000_000.125
NO_SHARES: Shares = {}
LONGEST_DOMAIN = f"namespace={'n' * 63}"


def member(
    number: int,
    *,
    pod: int,
    node: int,
    demands: tuple[Demand, ...],
    topology: int = 0,
    floating: Shares = NO_SHARES,
) -> Intent:
    """pod, node, topology: how long the names are."""
    uid = str(UUID(int=number))
    key = PodKey("ml", f"{number:05}".rjust(pod, "p"), uid)
    shares = {f"{demand.resource}#12": demand.amount for demand in demands} | dict(floating)
    name, attempt = f"{number:05}".rjust(node, "n"), UUID(int=number).hex
    return Intent(key, name, attempt, AT, demands, floating, shares, "z" * topology)


def committed(
    count: int, *, pod: int, node: int, demands: tuple[Demand, ...], topology: int, floating: Shares = NO_SHARES
) -> GangItem:
    members = [
        member(number, pod=pod, node=node, demands=demands, topology=topology, floating=floating)
        for number in range(count)
    ]
    return gang(members, state=GangState.COMMITTED, minimum=count, at=AT, reason="r" * 500, topology_key="k" * 317)


class SmallItems(InMemoryGangTable):
    """Its items hold a twentieth of DynamoDB's."""

    def most_members(self, intent: Intent) -> int:
        return MEMBERS_BYTES // 20 // member_bytes(intent)

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        return super().put(_in_size(item), seen)

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        found = super().join(key, round_, intent)
        return None if found is None else _in_size(found)

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        if transaction.after is not None:
            _in_size(transaction.after)
        return super().transact(transaction)


def _in_size(item: GangItem) -> GangItem:
    if size_of(item) > MAX_ITEM // 20:
        raise TableUnavailable("ledger table: Item size to update has exceeded the maximum allowed size")
    return item


def size_of(item: GangItem) -> int:
    """Bytes."""
    found: Any = gang_item(item)
    return item_size(found)


SHAPES = [
    pytest.param(16, 44, (), id="nothing counted"),
    pytest.param(16, 44, (Demand(MEMORY, 8_000),), id="a device"),
    pytest.param(63, 63, (Demand(MEMORY, 8_000), Demand(LICENCE, 1)), id="long names and two resources"),
]
LONGEST = pytest.param(253, 253, (Demand(MEMORY, 10**15), Demand(LICENCE, 10**15)), id="the longest names")


@pytest.mark.parametrize("topology", [0, 12])
@pytest.mark.parametrize(("pod", "node", "demands"), SHAPES)
def test_item_can_hold_1000_members(pod: int, node: int, demands: tuple[Demand, ...], topology: int) -> None:
    one = member(0, pod=pod, node=node, demands=demands, topology=topology)
    assert MEMBERS_BYTES // member_bytes(one) >= 1_000
    assert size_of(committed(1_000, pod=pod, node=node, demands=demands, topology=topology)) <= MAX_ITEM


@pytest.mark.parametrize("topology", [0, 12, 63])
@pytest.mark.parametrize(("pod", "node", "demands"), [*SHAPES, LONGEST])
def test_maximum_number_of_members_fits_into_an_item(
    pod: int, node: int, demands: tuple[Demand, ...], topology: int
) -> None:
    most = MEMBERS_BYTES // member_bytes(member(0, pod=pod, node=node, demands=demands, topology=topology))
    size = size_of(committed(most, pod=pod, node=node, demands=demands, topology=topology))
    assert 0.75 * MAX_ITEM <= size <= MAX_ITEM


@pytest.mark.parametrize(
    "floating",
    [
        pytest.param({f"{LICENCE}@cluster": 1}, id="a pool of the cluster"),
        pytest.param({f"{LICENCE}@topology.kubernetes.io/zone=eu-central-1a": 1}, id="a pool of a label"),
        pytest.param(
            {
                pool: 10**15
                for resource in (LICENCE, MEMORY)
                for pool in (f"{resource}@cluster", f"{resource}@{LONGEST_DOMAIN}")
            },
            id="four pools with long names",
        ),
    ],
)
def test_maximum_number_of_members_with_floating_pools_fits_into_an_item(floating: Shares) -> None:
    demands = (Demand(MEMORY, 8_000), Demand(LICENCE, 1))
    one = member(0, pod=16, node=44, demands=demands, floating=floating)
    most = MEMBERS_BYTES // member_bytes(one)
    size = size_of(committed(most, pod=16, node=44, demands=demands, topology=0, floating=floating))
    assert 0.75 * MAX_ITEM <= size <= MAX_ITEM


def test_rejects_a_gang_that_does_not_fit_into_one_item(monkeypatch: pytest.MonkeyPatch) -> None:
    members = [replace(each, minimum=4) for each in gang_of(4)]
    world = GangWorld(members)
    monkeypatch.setattr(world.gangs, "most_members", lambda intent: 3)
    world.run(5.0, tries=1)
    assert world.outcomes == {BindOutcome.GANG_INVALID: 4}
    assert world.gangs.gangs() == []


@pytest.mark.parametrize("seed", range(3))
def test_members_beyond_the_minimum_do_not_prevent_the_commit(seed: int) -> None:
    """More of them wait at once than an item holds. Those that are left join the committed gang."""
    world = GangWorld(gang_of(160, minimum=60), http_timeout=29.0, seed=seed)
    world.gangs = SmallItems(world.ledger)
    for member in world.members.values():
        world.schedule(member)
    world.world.run(20.0)
    assert world.bound() == set(world.members)
    assert BindOutcome.LEDGER_UNAVAILABLE not in world.outcomes


def test_refuses_members_that_do_not_fit_into_the_item() -> None:
    """No zone has the minimum, so those that wait are not committed."""
    members = gang_of(200, minimum=110, topology_key=ZONE)
    zones = {member.node: "ab"[number % 2] for number, member in enumerate(members)}
    world = GangWorld(members, http_timeout=29.0, zones=zones)
    world.gangs = SmallItems(world.ledger)
    world.publish()
    world.run(20.0, tries=1)
    assert world.reasons.keys() == {"gang waits: as many members are being bound as an item holds"}
