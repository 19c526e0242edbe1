"""The places of one gang: by the filters of scheduler and profile, by counted resources, within one domain."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.changes import AssumedPod
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import MEMORY, SLICES, counted_node
from tests.builders.gangs import member, members
from tests.builders.planned import CPU, NO_ROOM, ZONES, answers, cluster, counts, gang_policy, places, room_for
from tests.builders.pods import pod_object

POLICY = gang_policy()
TRAIN = members("train", 4, requests=CPU)


@pytest.mark.parametrize(
    ("rooms", "wanted"),
    [
        pytest.param((4,), {"n0": 4}, id="one node has room for all"),
        pytest.param((2, 2), {"n0": 2, "n1": 2}, id="two nodes have room for all"),
        pytest.param((1, 0, 2, 1), {"n0": 1, "n2": 2, "n3": 1}, id="every node with room is needed"),
        pytest.param((3,), {NO_ROOM: 4}, id="one member has no room"),
        pytest.param((1, 1, 1), {NO_ROOM: 4}, id="one node is missing"),
    ],
)
def test_plan_places_all_members_or_none(rooms: tuple[int, ...], wanted: dict[str, int]) -> None:
    snapshot = cluster(*rooms, pods=TRAIN)
    assert counts(places(answers(POLICY, snapshot, TRAIN))) == wanted


@pytest.mark.parametrize(
    ("names", "wanted"),
    [(["a1", "a2"], {NO_ROOM: 4}), (["b1", "b2"], {"b1": 2, "b2": 2}), (["c1"], {"c1": 4})],
    ids="abc",
)
def test_members_can_be_placed_if_the_scheduler_tries_one_domain_at_a_time(
    names: list[str], wanted: dict[str, int]
) -> None:
    """G2: each call of filter has the nodes of one domain only."""
    pods = members("train", 4, requests=CPU, topology_key="zone")
    found = answers(POLICY, Snapshot.of(ZONES, pods), pods, names=names)
    assert counts(places(found)) == wanted


def test_plan_uses_scheduler_filters_missing_from_the_profile() -> None:
    pods = members("train", 2, requests=CPU, spec={"nodeSelector": {"disk": "ssd"}})
    nodes = [room_for("n0", 9), room_for("n1", 2, {"disk": "ssd"}), room_for("n2", 9, unschedulable=True)]
    assert counts(places(answers(POLICY, Snapshot.of(nodes, pods), pods))) == {"n1": 2}


def test_plan_uses_filters_and_scores_of_the_profile() -> None:
    policy = gang_policy(profile="label-priority")
    key = "priority.lixueduan.com"
    nodes = [
        room_for("n0", 9),
        room_for("n1", 1, {key: "1"}),
        room_for("n2", 1, {key: "5"}),
        room_for("n3", 1, {key: "3"}),
    ]
    pods = members("train", 2, requests=CPU)
    assert counts(places(answers(policy, Snapshot.of(nodes, pods), pods))) == {"n2": 1, "n3": 1}


def test_scores_count_the_planned_members_of_other_shapes() -> None:
    """Nodes with fewer planned members score higher."""
    large = members("large", 2, requests={"cpu": "2"}, created="2026-01-02T00:00:00Z")
    small = [*members("first", 2, requests=CPU), *members("last", 2, requests=CPU, created="2026-01-03T00:00:00Z")]
    pods = [*large, *small]
    found = places(answers(gang_policy(profile="full"), cluster(*[8] * 4, pods=pods), pods))
    assert found == {"first-0": "n0", "first-1": "n1", "large-0": "n2", "large-1": "n3", "last-0": "n0", "last-1": "n1"}


def test_members_get_the_same_devices_as_in_bind() -> None:
    """bind chooses the smallest device that fits, which leaves the large device for the other member."""
    policy = gang_policy(managedResources=[SLICES])
    pods = [member(f"train-{index}", "train", 2, requests={MEMORY: amount}) for index, amount in enumerate("38")]
    snapshot = Snapshot.of([counted_node("n0", sizes="8,4")], pods)
    assert counts(places(answers(policy, snapshot, pods))) == {"n0": 2}


def test_pods_being_bound_occupy_their_room() -> None:
    other = read_pod(pod_object("web", requests={"cpu": "2"}))
    assert isinstance(other, Pod)
    snapshot = cluster(4, 2, pods=[*TRAIN, other]).assuming([AssumedPod("ml", "web", other.uid, "n0", {})])
    assert counts(places(answers(POLICY, snapshot, TRAIN))) == {"n0": 2, "n1": 2}


def test_members_that_fit_on_fewer_nodes_are_placed_first() -> None:
    small = [member(f"small-{index}", "train", 4, requests={"cpu": "1"}) for index in range(3)]
    large = member("z-large", "train", 4, requests={"cpu": "3"})
    pods = [*small, large]
    assert counts(places(answers(POLICY, cluster(3, 1, 1, 1, pods=pods), pods))) == {"n0": 1, "n1": 1, "n2": 1, "n3": 1}
