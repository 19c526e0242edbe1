"""bind as the barrier of a gang: when members are bound, and what a member leaves that is not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from berth.extender.outcomes import BindOutcome
from berth.extender.ports import CacheUnavailable
from berth.gangs.item import GangState
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.exemption import SYSTEM_CRITICAL_PRIORITY
from tests.builders.gang_items import TRAIN
from tests.fakes.node_cache import FixedNodeCache
from tests.fakes.pods import PodsInMemory
from tests.simulation.gangs.binds import CONFIGURATION, GangWorld, gang_of, node_object
from tests.simulation.reservations.binds import GPU_MEMORY, LICENCE


def cluster_of(pods: PodsInMemory, *nodes: str) -> FixedNodeCache:
    """What the watcher has published of these pods, and these nodes."""
    found = [pod.content(namespace, name) for (namespace, name), pod in pods.all().items()]
    return FixedNodeCache.of(CONFIGURATION, *map(node_object, nodes), *found)


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param({LICENCE: "1"}, id="without devices"),
        pytest.param({GPU_MEMORY: "8000"}, id="with devices, a different one for each member of a node"),
        pytest.param({"cpu": "1"}, id="nothing that is counted"),
    ],
)
def test_binds_all_members_at_once(requests: dict[str, str]) -> None:
    world = GangWorld(gang_of(4, per_node=2, requests=requests))
    world.run()
    assert world.bound() == set(world.members)
    assert world.outcomes == {BindOutcome.BOUND: 4}
    assert world.gangs.domain().open is None


def test_binds_none_while_a_member_is_missing() -> None:
    members = gang_of(4)
    world = GangWorld(members)
    for member in members[:3]:
        world.schedule(member, tries=1)
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.GANG_GAVE_UP: 3}
    assert world.held() == {}
    assert world.ledger.open_reservations() == []
    assert world.gangs.domain().open is None


def test_binds_all_when_the_last_member_comes_later() -> None:
    *first, last = gang_of(4)
    world = GangWorld([*first, last])
    for member in first:
        world.schedule(member)
    world.schedule(last, after=20.0)
    world.world.run(19.9)
    assert world.bound() == set()
    world.world.run(30.0)
    assert world.bound() == set(world.members)


def test_binds_none_where_one_node_has_too_little() -> None:
    # Three members on one node that has two licences.
    world = GangWorld(gang_of(4, per_node=3))
    world.run(20.0)
    assert world.bound() == set()
    assert world.held() == {}
    item = world.gangs.gang(TRAIN)
    assert item is not None
    assert (item.state, item.reason) == (GangState.ENDED, "gang does not fit: Insufficient example.com/licence")


def test_lets_another_gang_come_when_the_round_ends_for_lack_of_room() -> None:
    first, second = gang_of(4, per_node=3), gang_of(2, name="other")
    world = GangWorld([*first, *second])
    for member in first:
        world.schedule(member, tries=1)
    world.world.run(3.0)
    assert world.gangs.domain().open is None
    for member in second:
        world.schedule(member, tries=1)
    world.world.run(6.0)
    assert world.bound("other") == {member.name for member in second}


def test_binds_none_where_a_node_was_removed_before_the_commit() -> None:
    *first, last = gang_of(4, requests={"cpu": "1"})
    world = GangWorld([*first, last])
    for member in first:
        world.schedule(member, tries=1)
    world.schedule(last, after=1.0, tries=1)
    world.world.run(0.9)
    world.cache = cluster_of(world.pods, *{member.node for member in first})
    world.world.run(9.0)
    assert world.bound() == set()
    item = world.gangs.gang(TRAIN)
    assert item is not None
    assert (item.state, item.reason) == (GangState.ENDED, "gang does not fit: a node is gone")


def test_binds_each_further_member_alone() -> None:
    *first, last = gang_of(5, minimum=4)
    world = GangWorld([*first, last])
    for member in first:
        world.schedule(member)
    world.schedule(last, after=5.0)
    world.world.run(30.0)
    assert world.bound() == set(world.members)
    assert world.outcomes == {BindOutcome.BOUND: 5}


def test_binds_replacement_of_a_member_that_ended() -> None:
    members = gang_of(4)
    world = GangWorld(members)
    world.run(10.0)
    world.replace(members[0])
    world.schedule(world.members["train-0"])
    world.world.run(30.0)
    assert world.bound() == set(world.members)


def test_waits_for_all_members_when_the_gang_was_created_again() -> None:
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
def test_places_a_gang_of_the_same_name_as_a_whole_while_earlier_members_are_still_there(
    change: dict[str, Any],
) -> None:
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


def test_binds_the_others_alone_when_the_item_of_a_committed_gang_is_lost() -> None:
    *first, last = gang_of(4)
    world = GangWorld([*first, last])
    world.pods.refuse_bindings = 1
    world.run(5.0, tries=1)
    [missing] = set(world.members) - world.bound()
    world.lose_table()
    world.cache = cluster_of(world.pods, *{member.node for member in gang_of(4)})
    world.schedule(world.members[missing], tries=1)
    world.world.run(20.0)
    assert world.bound() == set(world.members)


def test_waits_for_all_members_when_the_cache_only_remembers_that_others_were_on_nodes() -> None:
    world = GangWorld(gang_of(4))
    world.run(5.0)
    world.cache = cluster_of(world.pods, *{member.node for member in gang_of(4)})
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
        pytest.param(True, BindOutcome.GANG_GAVE_UP, id="its annotations say all"),
        pytest.param(False, BindOutcome.GANG_WAITS, id="its PodGroup is not known"),
    ],
)
@pytest.mark.parametrize("when_stale", [*WhenStale])
def test_keeps_members_together_without_the_cache(annotated: bool, outcome: BindOutcome, when_stale: WhenStale) -> None:
    world = GangWorld(gang_of(4))
    world.cache = FixedNodeCache(CONFIGURATION, CacheUnavailable("the data is 300 s old", when_stale))
    if not annotated:
        world.pods.change("train-0", labels={"scheduling.x-k8s.io/pod-group": "train"}, annotations={})
    world.schedule(world.members["train-0"], tries=1)
    world.world.run(10.0)
    assert world.outcomes == {outcome: 1}


def test_says_that_the_gang_is_degraded_when_a_member_is_gone_after_the_commit() -> None:
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
        pytest.param({}, id="of which no other member comes"),
        pytest.param({"labels": {"scheduling.x-k8s.io/pod-group": "train"}, "annotations": {}}, id="without PodGroup"),
    ],
)
def test_binds_an_exempt_pod_that_names_a_gang_alone(names: dict[str, Any]) -> None:
    """filter passes it: a policy must not bar the cluster's own agents."""
    world = GangWorld(gang_of(4, priority=SYSTEM_CRITICAL_PRIORITY))
    world.pods.change("train-0", **names)
    world.schedule(world.members["train-0"], tries=1)
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.BOUND: 1}


def test_names_the_cause_where_the_gang_cannot_be_read() -> None:
    world = GangWorld([*gang_of(1, minimum=0)])
    world.run(1.0, tries=1)
    assert world.outcomes == {BindOutcome.GANG_INVALID: 1}


def test_members_that_wait_read_the_small_item() -> None:
    members = gang_of(4)
    world = GangWorld(members)
    for member in members[:3]:
        world.schedule(member, tries=1)
    world.world.run(10.0)
    calls = Counter(world.wire.calls)
    # Each waits for 2.5 s: it looks at the gang's item once a second, and at the domain several times.
    assert calls["GetItem gang"] <= 3 * 5
    assert calls["GetItem domain"] >= 3 * 8


class TestTwoGangs:
    def test_places_one_after_the_other_on_room_for_one(self) -> None:
        first, second = gang_of(6), gang_of(6, name="other")
        world = GangWorld([each for pair in zip(first, second, strict=True) for each in pair], licences=1)
        world.run(60.0)
        assert sorted(map(len, (world.bound("train"), world.bound("other")))) == [0, 6]

    def test_places_both_where_there_is_room(self) -> None:
        first, second = gang_of(6), gang_of(6, name="other")
        world = GangWorld([each for pair in zip(first, second, strict=True) for each in pair])
        world.run(60.0)
        assert world.bound("train") | world.bound("other") == set(world.members)

    def test_places_the_higher_priority_first(self) -> None:
        *first, last = gang_of(4)
        urgent = gang_of(4, name="urgent", priority=10)
        world = GangWorld([*first, last, *urgent], licences=1)
        for member in first:
            world.schedule(member)
        for member in urgent:
            world.schedule(member, after=1.0)
        world.schedule(last, after=2.0)
        world.world.run(60.0)
        assert world.bound("urgent") == {member.name for member in urgent}
        assert world.bound("train") == set()


class TestTwoPhases:
    def test_binds_all_members_of_120_nodes(self) -> None:
        world = GangWorld(gang_of(120))
        world.run()
        assert world.bound() == set(world.members)
        assert world.outcomes == {BindOutcome.BOUND: 120}
        assert "PutItem committed" in world.wire.calls

    def test_holds_nothing_where_the_last_node_has_too_little(self) -> None:
        members = gang_of(120)
        world = GangWorld([*members[:-1], replace(members[-1], requests={LICENCE: "2"})])
        world.occupy(members[-1].node, {LICENCE: 1}, before="BatchGetItem")
        world.run(20.0)
        assert world.bound() == set()
        assert sum(world.held().values()) == 1
        item = world.gangs.gang(TRAIN)
        assert item is not None
        assert item.state is not GangState.COMMITTED
