"""The items of gangs: which gang of a domain is open, and which members wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome
from berth.ledger.gangs.dynamodb_item import MEMBERS_BYTES, gang_item, member_bytes
from berth.ledger.gangs.item import (
    MAX_QUEUED_GANGS,
    MAX_QUEUED_MEMBERS,
    QUEUED_SECONDS,
    REST_SECONDS,
    TURN_MEMBER_SECONDS,
    TURN_SECONDS,
    Claim,
    Domain,
    GangItem,
    GangState,
    Intent,
    QueuedGang,
)
from berth.ledger.gangs.table import NotTransacted, Transaction
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.objects.pod import PodKey
from berth_cli.server.store.gang_table import InMemoryGangTable
from tests.builders.gang_items import TRAIN, claim, gang, intent
from tests.fakes.dynamodb_units import item_size
from tests.simulation.gangs.binds import ZONE, GangWorld, gang_of

NOW = 30.0
OTHER = GangKey("ml", "other")
OPEN = Domain(claim("other", opened_at=NOW - 1), 4)
TURN_OVER = Domain(claim("other", opened_at=NOW - TURN_SECONDS - 4 * TURN_MEMBER_SECONDS, minimum=4), 4)
OVER = Domain(claim("other", until=NOW - 1), 4)


@pytest.mark.parametrize(
    ("domain", "mine", "after"),
    [
        pytest.param(Domain(), claim(), Domain(claim(), 1), id="no gang was ever open"),
        pytest.param(Domain(None, 4), claim(), Domain(claim(), 5), id="no gang is open"),
        pytest.param(OPEN, claim("other", until=99.0), OPEN, id="already open and not extended"),
        pytest.param(OPEN, claim(), None, id="another gang of the same priority is open"),
        pytest.param(OPEN, claim(priority=1), Domain(claim(priority=1), 5), id="a lower priority is open"),
        pytest.param(OPEN, claim(priority=-1), None, id="a higher priority is open"),
        pytest.param(
            TURN_OVER, claim(), Domain(claim(), 5, OTHER, NOW + REST_SECONDS), id="the turn of the open gang is over"
        ),
        pytest.param(
            replace(TURN_OVER, open=claim("other", opened_at=NOW - TURN_SECONDS, minimum=4)),
            claim(),
            None,
            id="the turn of a large open gang is not over",
        ),
        pytest.param(TURN_OVER, claim(priority=-1), None, id="the turn of a higher priority is over but not its time"),
        pytest.param(
            TURN_OVER, claim("other", until=99.0), TURN_OVER, id="its own turn is over and no other gang waits"
        ),
        pytest.param(
            OVER,
            claim(priority=-1),
            Domain(claim(priority=-1), 5, OTHER, NOW - 1 + REST_SECONDS),
            id="the time of the open gang is over: it pauses",
        ),
        pytest.param(OVER, claim("other", until=99.0), None, id="its own time is over: it pauses"),
        pytest.param(
            Domain(claim("other", until=NOW - REST_SECONDS), 4),
            claim("other", until=99.0),
            Domain(claim("other", until=99.0), 5, OTHER, NOW),
            id="its own time is over and it has paused",
        ),
        pytest.param(replace(OPEN, resting=TRAIN, rest_until=NOW + 1), claim(priority=9), None, id="it pauses"),
        pytest.param(
            Domain(None, 4, TRAIN, NOW + 1),
            claim(),
            Domain(claim(), 5, TRAIN, NOW + 1),
            id="it pauses while no gang is open",
        ),
        pytest.param(
            replace(OPEN, resting=TRAIN, rest_until=NOW),
            claim(priority=9),
            Domain(claim(priority=9), 5, TRAIN, NOW),
            id="paused",
        ),
    ],
)
def test_opens_one_gang_at_a_time_and_prefers_higher_priority(
    domain: Domain, mine: Claim, after: Domain | None
) -> None:
    assert domain.opened_by(mine, NOW) == after


@pytest.mark.parametrize(
    ("domain", "holds"),
    [
        pytest.param(Domain(claim(), 3), True, id="this round"),
        pytest.param(Domain(claim(), 4), False, id="a later round"),
        pytest.param(Domain(claim("other"), 3), False, id="another gang"),
        pytest.param(Domain(None, 3), False, id="no open gang"),
    ],
)
def test_domain_holds_only_the_current_round_of_its_open_gang(domain: Domain, holds: bool) -> None:
    assert domain.holds(TRAIN, 3) is holds


def test_counts_only_members_whose_calls_still_wait() -> None:
    waits, ended = intent("train-0", until=NOW + 0.5), intent("train-1", until=NOW)
    assert gang([waits, ended]).waiting(NOW) == {waits.pod.uid: waits}


@pytest.mark.parametrize(
    ("zones", "wanted"),
    [
        pytest.param(["", ""], [0, 1], id="without a topology key"),
        pytest.param(["a", "a"], [0, 1], id="all in one domain"),
        pytest.param(["a", "b"], [], id="no domain reaches the minimum"),
        pytest.param(["b", "a", "b", "b", "a"], [0, 2, 3], id="the domain with the most members"),
        pytest.param(["b", "a", "b", "a"], [1, 3], id="first by value of equal domains"),
    ],
)
def test_commit_takes_only_members_of_one_topology_domain(zones: list[str], wanted: list[int]) -> None:
    members = [intent(f"train-{number}", topology=zone) for number, zone in enumerate(zones)]
    assert set(gang(members, minimum=2).complete(NOW)) == {members[number].pod.uid for number in wanted}


def test_commit_is_empty_if_fewer_calls_than_the_minimum_still_wait() -> None:
    members = [intent("train-0", until=NOW + 1), intent("train-1", until=NOW)]
    assert gang(members, minimum=2).complete(NOW) == {}


class TestQueue:
    """Which gangs may wait in bind while another gang is open."""

    FULL = Domain(claim("other"), 4, queue={OTHER: QueuedGang(MAX_QUEUED_MEMBERS - 3, NOW + 1)})

    @pytest.mark.parametrize(
        ("domain", "members", "may_wait"),
        [
            pytest.param(OPEN, 4, True, id="no other gang waits"),
            pytest.param(OPEN, 5000, True, id="no other gang waits for a large gang"),
            pytest.param(FULL, 3, True, id="room beside the others"),
            pytest.param(FULL, 4, False, id="no room beside the others"),
            pytest.param(replace(FULL, queue={OTHER: QueuedGang(5000, NOW)}), 4, True, id="the others no longer wait"),
            pytest.param(
                replace(
                    OPEN, queue={GangKey("ml", str(each)): QueuedGang(1, NOW + 1) for each in range(MAX_QUEUED_GANGS)}
                ),
                1,
                False,
                id="too many gangs wait",
            ),
        ],
    )
    def test_number_of_members_in_the_queue_is_bounded(self, domain: Domain, members: int, may_wait: bool) -> None:
        found = domain.queued(TRAIN, members, NOW)
        assert (found is not None) is may_wait
        if found is not None:
            assert found.queue[TRAIN] == QueuedGang(members, NOW + QUEUED_SECONDS)

    @pytest.mark.parametrize(
        ("left", "is_renewed"),
        [
            pytest.param(QUEUED_SECONDS / 2, True, id="half of the time is over"),
            pytest.param(QUEUED_SECONDS, False, id="new"),
        ],
    )
    def test_queue_place_is_renewed_after_half_of_its_time(self, left: float, is_renewed: bool) -> None:
        domain = replace(OPEN, queue={TRAIN: QueuedGang(4, NOW + left)})
        found = domain.queued(TRAIN, 4, NOW)
        assert (found is not domain) is is_renewed

    def test_opened_gang_leaves_the_queue_and_others_stay(self) -> None:
        queue = {TRAIN: QueuedGang(4, NOW + 1), OTHER: QueuedGang(4, NOW + 1)}
        opened = Domain(None, 4, queue=queue).opened_by(claim(), NOW)
        assert opened is not None
        assert opened.queue == {OTHER: QueuedGang(4, NOW + 1)}
        assert opened.closed().queue == opened.queue


# Size of a gang's item by DynamoDB's rules, and the handling of a gang that does not fit.

MAX_ITEM = 400 * 1024
MEMORY, LICENCE = "nvidia.com/gpumem", "example.com/licence"
AT = 1_800_000_000.125
NO_SHARES: Shares = {}
LONGEST_DOMAIN = f"namespace={'n' * 63}"


def member(
    number: int, *, pod: int, node: int, demands: tuple[Demand, ...], topology: int = 0, floating: Shares = NO_SHARES
) -> Intent:
    """Return a member. pod, node, topology: the lengths of the names."""
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
    """Limits items to a twentieth of DynamoDB's item size."""

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
    """Return the size of the item in bytes."""
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
    """More members wait at once than an item holds. The remaining members join the committed gang."""
    world = GangWorld(gang_of(160, minimum=60), http_timeout=29.0, seed=seed)
    world.gangs = SmallItems(world.ledger)
    for member in world.members.values():
        world.schedule(member)
    world.world.run(20.0)
    assert world.bound() == set(world.members)
    assert BindOutcome.LEDGER_UNAVAILABLE not in world.outcomes


def test_refuses_members_that_do_not_fit_into_the_item() -> None:
    """No zone has the minimum, so the waiting members are not committed."""
    members = gang_of(200, minimum=110, topology_key=ZONE)
    zones = {member.node: "ab"[number % 2] for number, member in enumerate(members)}
    world = GangWorld(members, http_timeout=29.0, zones=zones)
    world.gangs = SmallItems(world.ledger)
    world.publish()
    world.run(20.0, tries=1)
    assert world.reasons.keys() == {"gang waits: as many members are being bound as an item holds"}
