"""The overview of a gang: its stage, and the reason why it waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from berth.scheduling.gangs.overview import GangStage
from berth.scheduling.objects import NodeInfo, Pod, read_node
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import LICENCE, LICENCES, counted_node
from tests.builders.gangs import member, members, native_group_object, pod_group
from tests.builders.nodes import node_with
from tests.builders.planned import CPU, gang_policy, room_for

GPU = "example.com/gpu"
GATED = {"schedulingGates": [{"name": "quota"}]}
TRAIN = members("train", 4, requests=CPU)
EXEMPT = member("launcher", "train", 4, priority=SYSTEM_CRITICAL_PRIORITY)


def gpu_node(name: str, gpus: int) -> NodeInfo:
    found = read_node(node_with(name, None, allocatable={"cpu": "64", "pods": "100", GPU: str(gpus)}))
    assert isinstance(found, NodeInfo)
    return found


def asking(**requests: str) -> list[Pod]:
    names = {"gpu": GPU, "licence": LICENCE}
    return members("train", 4, requests={names.get(name, name): amount for name, amount in requests.items()})


def told(nodes: list[NodeInfo], pods: list[Pod], **document: Any) -> tuple[GangStage, str]:
    [found] = gang_policy(**document).gangs_in(Snapshot.of(nodes, pods))
    return found.stage, found.waits_for


@pytest.mark.parametrize(
    ("pods", "stage", "waits_for"),
    [
        pytest.param(TRAIN, GangStage.HAS_PLACES, "", id="all have places"),
        pytest.param(TRAIN[:2], GangStage.WAITS_FOR_MEMBERS, "2 of 4 members exist", id="members are missing"),
        pytest.param(
            [*TRAIN[:3], member("train-3", "train", 4, spec=GATED)],
            GangStage.WAITS_FOR_MEMBERS,
            "3 of 4 members exist, 1 more are gated",
            id="one is gated",
        ),
        pytest.param(
            [*TRAIN[:3], member("train-3", "train", "x")],
            GangStage.WAITS_FOR_MEMBERS,
            "3 of 4 members exist, others are rejected: gang size is not a number",
            id="one is rejected individually",
        ),
        pytest.param(
            [member("train-0", "train", 0)], GangStage.INVALID, "gang size is below 1", id="an invalid gang size"
        ),
        pytest.param([replace(TRAIN[0], node_name="n0"), *TRAIN[1:]], GangStage.PLACED, "", id="one is on a node"),
        pytest.param(
            [*TRAIN[:3], EXEMPT], GangStage.WAITS_FOR_MEMBERS, "3 of 4 members exist", id="another pod is exempt"
        ),
        pytest.param(
            [*TRAIN[:3], replace(EXEMPT, node_name="n0")],
            GangStage.WAITS_FOR_MEMBERS,
            "3 of 4 members exist",
            id="an exempt pod is on a node",
        ),
    ],
)
def test_reports_the_stage_of_a_gang_and_the_reason_why_it_waits(
    pods: list[Pod], stage: GangStage, waits_for: str
) -> None:
    assert told([room_for("n0", 8)], pods) == (stage, waits_for)


@pytest.mark.parametrize(
    ("nodes", "pods", "waits_for"),
    [
        pytest.param(
            [gpu_node("a", 8), gpu_node("b", 8), gpu_node("c", 8), gpu_node("d", 4)],
            asking(gpu="8"),
            f"needs 4 x 8 {GPU}, there is room for 3 on 3 nodes",
            id="a resource is short",
        ),
        pytest.param(
            [gpu_node("a", 17)],
            asking(gpu="8"),
            f"needs 4 x 8 {GPU}, there is room for 2 on 1 node",
            id="one node fits",
        ),
        pytest.param(
            [gpu_node("a", 4)], asking(gpu="8"), f"needs 4 x 8 {GPU}, no node has so much left", id="no node fits"
        ),
        pytest.param(
            [gpu_node("a", 99)], asking(cpu="32"), "needs 4 x 32 cpu, there is room for 2 on 1 node", id="native"
        ),
        pytest.param(
            [gpu_node("a", 16), gpu_node("b", 8)],
            asking(gpu="8", cpu="16"),
            f"needs 4 x 8 {GPU}, there is room for 3 on 2 nodes",
            id="the scarcest of several resources",
        ),
        pytest.param(
            [gpu_node("a", 99)],
            members("train", 4, requests={"pods-owner.example/word": "1"}),
            "4 members request a resource that no node has",
            id="no text written by the pod's owner",
        ),
        pytest.param(
            [gpu_node("a", 99), gpu_node("b", 99)],
            members("train", 4, spec={"nodeSelector": {"disk": "ssd"}}),
            "0 of 4 members have a node that takes them",
            id="no resource is short",
        ),
    ],
)
def test_reports_the_amount_or_node_that_a_gang_lacks(nodes: list[NodeInfo], pods: list[Pod], waits_for: str) -> None:
    assert told(nodes, pods) == (GangStage.DOES_NOT_FIT, waits_for)


def test_names_the_counted_resource_of_which_too_little_is_left() -> None:
    nodes = [counted_node("a", licences="2"), counted_node("b", licences="1")]
    assert told(nodes, asking(licence="1"), profile="managed-resources", managedResources=[LICENCES]) == (
        GangStage.DOES_NOT_FIT,
        f"needs 4 x 1 {LICENCE}, there is room for 3 on 2 nodes",
    )


def test_counts_nodes_of_one_domain_if_the_gang_requires_one() -> None:
    nodes = [room_for("n0", 3, {"zone": "a"}), room_for("n1", 2, {"zone": "b"})]
    pods = members("train", 4, requests=CPU, topology_key="zone")
    assert told(nodes, pods) == (GangStage.DOES_NOT_FIT, "3 of 4 members have a node that takes them")


def test_lists_members_with_their_planned_nodes() -> None:
    [found] = gang_policy().gangs_in(Snapshot.of([room_for("n0", 4)], TRAIN))
    assert {each.name: each.place for each in found.members} == {pod.name: "n0" for pod in TRAIN}
    assert (found.minimum, found.on_nodes, found.created_at) == (4, 0, 1767225600.0)


@pytest.mark.parametrize("node", ["", "n0"], ids=["all members wait", "all members are on nodes"])
def test_priority_and_age_come_from_the_pod_group_if_set(node: str) -> None:
    obj = native_group_object(minimum=2, priority=7)
    obj["metadata"]["creationTimestamp"] = "2025-12-31T23:59:00Z"
    pods = [replace(member(f"train-{number}", None, group="train"), node_name=node) for number in range(2)]
    snapshot = Snapshot.of([room_for("n0", 4)], pods, pod_groups=[pod_group(obj)])
    [found] = gang_policy().gangs_in(snapshot)
    assert (found.priority, found.created_at) == (7, 1767225540.0)


def test_does_not_list_exempt_pods_as_members() -> None:
    [found] = gang_policy().gangs_in(Snapshot.of([room_for("n0", 4)], [*TRAIN, replace(EXEMPT, node_name="n0")]))
    assert [each.name for each in found.members] == [pod.name for pod in TRAIN]
    assert gang_policy().gangs_in(Snapshot.of([room_for("n0", 4)], [EXEMPT])) == []


def test_list_is_empty_if_gangs_are_disabled() -> None:
    assert gang_policy(gangs={}).gangs_in(Snapshot.of([room_for("n0", 4)], TRAIN)) == []
