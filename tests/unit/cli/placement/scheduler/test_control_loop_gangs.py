"""The control loop with gangs: either all members of a gang get nodes on one state, or none."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.control_loop import ControlLoop, control_loop_of
from tests.builders.gangs import member, members, native_group_object, pod_group
from tests.builders.planned import CPU, gang_configuration, room_for
from tests.builders.pods import pod_object

TRAIN = members("train", 3, requests=CPU)


def plain(name: str, cpu: str = "1") -> Pod:
    found = read_pod(pod_object(name, requests={"cpu": cpu}))
    assert isinstance(found, Pod)
    return found


def control_loop(*rooms: int, profile: str = "all-nodes", groups: int = 0) -> ControlLoop:
    pod_groups = [pod_group(native_group_object(minimum=groups))] if groups else []
    nodes = [room_for(f"n{index}", room) for index, room in enumerate(rooms)]
    return control_loop_of(gang_configuration(profile=profile), Snapshot.of(nodes, pod_groups=pod_groups))


@pytest.mark.parametrize("profile", ["all-nodes", "full"])
def test_places_all_members(profile: str) -> None:
    loop = control_loop(2, 1, profile=profile)
    assert sorted(each.node for each in loop.run(TRAIN)) == ["n0", "n0", "n1"]
    assert sum(len(node.pods) for node in loop.snapshot.nodes.values()) == 3


@pytest.mark.parametrize("profile", ["all-nodes", "full"])
def test_does_not_place_any_member_if_one_has_no_room(profile: str) -> None:
    loop = control_loop(1, 1, profile=profile)
    found = list(loop.run(TRAIN))
    assert [each.node for each in found] == ["", "", ""]
    assert {each.message for each in found} == {"0/2 nodes are available: 2 gang does not fit."}
    assert not any(node.pods for node in loop.snapshot.nodes.values())


def test_places_other_pods_if_a_gang_has_no_room() -> None:
    found = list(control_loop(1, 1).run([*TRAIN, plain("web")]))
    assert [each.node != "" for each in found] == [False, False, False, True]


def test_reports_missing_members() -> None:
    [found] = control_loop(9).run(TRAIN[:1])
    assert found.message == "0/1 nodes are available: 1 gang waits for members."


def test_outcomes_are_in_queue_order() -> None:
    pods = [TRAIN[0], plain("web"), TRAIN[1], TRAIN[2]]
    assert [each.pod.name for each in control_loop(9).run(pods)] == ["train-0", "web", "train-1", "train-2"]


def test_reads_pod_groups_from_the_cluster() -> None:
    pods = [member(f"train-{index}", None, group="train", requests=CPU) for index in range(2)]
    assert [each.node for each in control_loop(2, groups=2).run(pods)] == ["n0", "n0"]
    assert [each.node for each in control_loop(2, groups=3).run(pods)] == ["", ""]
