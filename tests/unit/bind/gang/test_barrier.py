"""bind as the barrier of a gang: when members are bound, and what an unbound member leaves behind."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from berth.extender.outcomes import BindOutcome
from berth.extender.ports import CacheUnavailable
from berth.ledger.gangs.item import GangState
from berth.scheduling.configuration.document import WhenStale
from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from tests.builders.gang_items import TRAIN
from tests.fakes.node_cache import FixedNodeCache
from tests.simulation.gangs.binds import CONFIGURATION, ZONE, GangWorld, cluster_of, gang_of
from tests.simulation.reservations.binds import GPU_MEMORY, LICENCE


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param({LICENCE: "1"}, id="without devices"),
        pytest.param({GPU_MEMORY: "8000"}, id="with a different device for each member of a node"),
        pytest.param({"cpu": "1"}, id="no counted resource"),
    ],
)
def test_binds_all_members_at_once(requests: dict[str, str]) -> None:
    world = GangWorld(gang_of(4, per_node=2, requests=requests))
    world.run()
    assert world.bound() == set(world.members)
    assert world.outcomes == {BindOutcome.BOUND: 4}
    assert world.gangs.domain().open is None


def test_does_not_bind_any_member_while_one_is_missing() -> None:
    members = gang_of(4)
    world = GangWorld(members)
    for member in members[:3]:
        world.schedule(member, tries=1)
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.GANG_GAVE_UP: 3}
    assert world.held() == {}
    assert world.ledger.open_reservations() == []
    assert world.gangs.domain().open is None


def test_binds_all_members_when_the_last_one_arrives_late() -> None:
    *first, last = gang_of(4)
    world = GangWorld([*first, last])
    for member in first:
        world.schedule(member)
    world.schedule(last, after=20.0)
    world.world.run(19.9)
    assert world.bound() == set()
    world.world.run(30.0)
    assert world.bound() == set(world.members)


def test_does_not_bind_any_member_if_one_node_has_too_little() -> None:
    # Three members on one node that has two licences.
    world = GangWorld(gang_of(4, per_node=3))
    world.run(20.0)
    assert world.bound() == set()
    assert world.held() == {}
    item = world.gangs.gang(TRAIN)
    assert item is not None
    assert (item.state, item.reason) == (GangState.ENDED, "gang does not fit: Insufficient example.com/licence")
    assert world.gangs.domain().open is None


def test_does_not_bind_any_member_if_a_node_was_removed_before_the_commit() -> None:
    *first, last = gang_of(4, requests={"cpu": "1"})
    world = GangWorld([*first, last])
    for member in first:
        world.schedule(member, tries=1)
    world.schedule(last, after=1.0, tries=1)
    world.world.run(0.9)
    world.cache = cluster_of(world.pods, {member.node for member in first})
    world.world.run(9.0)
    assert world.bound() == set()
    item = world.gangs.gang(TRAIN)
    assert item is not None
    assert (item.state, item.reason) == (GangState.ENDED, "gang does not fit: a node is gone")


def test_binds_each_additional_member_individually() -> None:
    *first, last = gang_of(5, minimum=4)
    world = GangWorld([*first, last])
    for member in first:
        world.schedule(member)
    world.schedule(last, after=5.0)
    world.world.run(30.0)
    assert world.bound() == set(world.members)
    assert world.outcomes == {BindOutcome.BOUND: 5}


def test_waits_for_all_members_if_the_gang_was_recreated() -> None:
    members = gang_of(4)
    world = GangWorld(members)
    world.run(10.0)
    for member in members:
        world.replace(member)
    again = [*world.members.values()]
    for member in again[:3]:
        world.schedule(member, tries=2)
    world.world.run(30.0)
    assert world.bound() == set()
    world.schedule(again[0])
    world.schedule(again[1])
    world.schedule(again[2])
    world.schedule(again[3])
    world.world.run(60.0)
    assert world.bound() == set(world.members)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"deleting": True}, id="the earlier members are being deleted"),
        pytest.param({"phase": "Succeeded"}, id="the earlier members have ended"),
    ],
)
def test_places_a_recreated_gang_as_a_whole_while_earlier_members_still_exist(change: dict[str, Any]) -> None:
    world = GangWorld(gang_of(4))
    world.run(10.0)
    for member in gang_of(4):
        world.pods.change(member.name, **change)
    again = gang_of(4, prefix="again")
    world.come(again)
    for member in again[:3]:
        world.schedule(member, tries=1)
    world.world.run(20.0)
    assert world.bound() == {member.name for member in gang_of(4)}
    assert world.outcomes[BindOutcome.GANG_GAVE_UP] == 3


def test_binds_remaining_members_individually_if_the_item_of_a_committed_gang_is_lost() -> None:
    *first, last = gang_of(4)
    world = GangWorld([*first, last])
    world.pods.refuse_bindings = 1
    world.run(5.0, tries=1)
    [missing] = set(world.members) - world.bound()
    world.lose_table()
    world.cache = cluster_of(world.pods, {member.node for member in gang_of(4)})
    world.schedule(world.members[missing], tries=1)
    world.world.run(20.0)
    assert world.bound() == set(world.members)


def test_waits_for_all_members_if_only_a_stale_cache_shows_members_on_nodes() -> None:
    world = GangWorld(gang_of(4))
    world.run(5.0)
    world.cache = cluster_of(world.pods, {member.node for member in gang_of(4)})
    for member in gang_of(4):
        world.replace(member)
    world.lose_table()
    again = [*world.members.values()][:3]
    for member in again:
        world.schedule(member, tries=1)
    world.world.run(20.0)
    assert world.bound() == set()


@pytest.mark.parametrize(
    ("annotated", "outcome"),
    [
        pytest.param(True, BindOutcome.GANG_GAVE_UP, id="gang defined by annotations"),
        pytest.param(False, BindOutcome.GANG_WAITS, id="unknown PodGroup"),
    ],
)
@pytest.mark.parametrize("when_stale", [*WhenStale])
def test_does_not_bind_lone_member_without_cache(annotated: bool, outcome: BindOutcome, when_stale: WhenStale) -> None:
    world = GangWorld(gang_of(4))
    world.cache = FixedNodeCache(CONFIGURATION, CacheUnavailable("the data is 300 s old", when_stale))
    if not annotated:
        world.pods.change("train-0", labels={"scheduling.x-k8s.io/pod-group": "train"}, annotations={})
    world.schedule(world.members["train-0"], tries=1)
    world.world.run(10.0)
    assert world.outcomes == {outcome: 1}


def test_reports_a_degraded_gang_if_a_member_disappears_after_the_commit() -> None:
    world = GangWorld(gang_of(4))
    world.pods.refuse_bindings = 1
    for member in world.members.values():
        world.schedule(member, tries=1)
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.BOUND: 3, BindOutcome.GANG_DEGRADED: 1}
    assert sum(world.held().values()) == 3


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({}, id="no other member arrives"),
        pytest.param({"labels": {"scheduling.x-k8s.io/pod-group": "train"}, "annotations": {}}, id="without PodGroup"),
    ],
)
def test_exempt_gang_pod_is_bound_individually(names: dict[str, Any]) -> None:
    """filter passes the pod too, because a policy must not block the cluster's own agents."""
    world = GangWorld(gang_of(4, priority=SYSTEM_CRITICAL_PRIORITY))
    world.pods.change("train-0", **names)
    world.schedule(world.members["train-0"], tries=1)
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.BOUND: 1}


def test_waiting_members_mostly_read_the_smaller_domain_item() -> None:
    members = gang_of(4)
    world = GangWorld(members)
    for member in members[:3]:
        world.schedule(member, tries=1)
    world.world.run(10.0)
    calls = Counter(world.wire.calls)
    # Each member waits for 2.5 s. It reads the gang's item once a second, and the domain several times.
    assert calls["GetItem gang"] <= 3 * 5
    assert calls["GetItem domain"] >= 3 * 8


class TestOneTopologyDomain:
    """Members of gangs with a topology key, on nodes of the zones a and b."""

    OTHER = "gang waits: its members are in another topology domain"

    @staticmethod
    def world(*zones: str, minimum: int, per_node: int = 1) -> GangWorld:
        """Return a world with one member for each of these zones, and `per_node` members on each node."""
        members = gang_of(len(zones), minimum=minimum, topology_key=ZONE, per_node=per_node)
        return GangWorld(members, zones=dict(zip([member.node for member in members], zones, strict=True)))

    def test_binds_members_of_one_domain_and_rejects_other_members(self) -> None:
        world = self.world("b", "a", "b", "a", "b", minimum=3)
        world.run(10.0, tries=1)
        assert world.bound() == {"train-0", "train-2", "train-4"}
        assert world.reasons[self.OTHER] == 2
        assert sum(world.held().values()) == 3
        assert {each.pod.name for each in world.ledger.open_reservations()} == world.bound()

    @pytest.mark.parametrize(
        ("zone", "outcome", "reason"),
        [
            pytest.param("a", BindOutcome.BOUND, "", id="in the gang's zone"),
            pytest.param("b", BindOutcome.GANG_WAITS, OTHER, id="in another zone"),
            pytest.param(
                "",
                BindOutcome.GANG_WAITS,
                "gang waits: the topology domain of the node is not known",
                id="on a node without the label",
            ),
        ],
    )
    @pytest.mark.parametrize("is_lost", [False, True], ids=["the gang's item exists", "the gang's item is lost"])
    def test_binds_a_replacement_only_in_the_domain_of_the_other_members(
        self, zone: str, outcome: BindOutcome, reason: str, is_lost: bool
    ) -> None:
        members = gang_of(4, topology_key=ZONE)
        zones = {member.node: "a" for member in members}
        world = GangWorld(members, zones=zones)
        world.run(5.0)
        world.replace(members[0])
        world.zones = {**zones, members[0].node: zone}
        world.cache = cluster_of(world.pods, zones, world.zones)
        if is_lost:
            world.lose_table()
        world.outcomes.clear()
        world.reasons.clear()
        world.schedule(world.members["train-0"], tries=1)
        world.world.run(20.0)
        assert world.outcomes == {outcome: 1}
        assert world.reasons == {reason: 1}

    @pytest.mark.parametrize(
        "cache",
        [
            pytest.param(FixedNodeCache(CONFIGURATION, CacheUnavailable("the data is 300 s old")), id="no cache"),
            pytest.param(FixedNodeCache.of(CONFIGURATION), id="a node that the cache does not have"),
        ],
    )
    def test_waits_while_the_domain_of_the_node_is_unknown(self, cache: FixedNodeCache) -> None:
        world = self.world("a", minimum=1)
        world.cache = cache
        world.run(5.0, tries=1)
        assert world.outcomes == {BindOutcome.GANG_WAITS: 1}

    def test_rejects_member_with_another_topology_key(self) -> None:
        """filter may have passed the member on stale data."""
        *first, last = gang_of(3)
        world = GangWorld(
            [*(replace(each, topology_key=ZONE) for each in first), last], zones={each.node: "a" for each in first}
        )
        world.run(5.0, tries=1)
        assert world.bound() == set()
        assert world.reasons["gang topology key differs between members"] == 1

    def test_does_not_reserve_resources_for_members_in_other_domains(self) -> None:
        members = gang_of(130, minimum=120, topology_key=ZONE)
        world = GangWorld(
            members, zones={each.node: "b" if number % 13 == 0 else "a" for number, each in enumerate(members)}
        )
        world.run(10.0, tries=1)
        assert len(world.bound()) == 120
        assert "PutItem committed" in world.wire.calls
        assert sum(world.held().values()) == 120
