"""The control loop: each pod is placed on the result of the previous ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome, control_loop_of
from berth_cli.placement.scheduler.extender import PolicyExtender
from tests.builders.custom_plugins import PATH, failing_policy
from tests.builders.gangs import member, members, native_group_object, pod_group
from tests.builders.planned import CPU, gang_configuration, room_for
from tests.builders.pods import pod_object

GPU = "nvidia.com/gpu"
FULL = BerthConfiguration.model_validate({"profile": "full"}).build_profile("full")


def node(name: str, cpu: str = "4", labels: Mapping[str, str] | None = None, **rest: object) -> NodeInfo:
    allocatable = {"cpu": cpu, "memory": "32Gi", "pods": "110", **rest.pop("more", {})}  # type: ignore[dict-item]
    read = read_node(
        {"metadata": {"name": name, "labels": labels or {}}, "spec": rest, "status": {"allocatable": allocatable}}
    )
    assert isinstance(read, NodeInfo)
    return read


def pod(name: str, cpu: str = "1", *, node_name: str = "", nominated: str = "", **spec: Any) -> Pod:
    read = read_pod(
        {
            "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": name[:3]}},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, **spec.pop("more", {})}}}],
                "schedulerName": "default-scheduler",
                **({"nodeName": node_name} if node_name else {}),
                **spec,
            },
            "status": {"nominatedNodeName": nominated},
        }
    )
    assert isinstance(read, Pod)
    return read


def extender(document: Mapping[str, object]) -> PolicyExtender:
    return PolicyExtender(BerthConfiguration.model_validate(document).policy())


def outcomes(loop: ControlLoop, *pods: Pod) -> list[Outcome]:
    return list(loop.run(pods))


def test_each_pod_sees_earlier_placements() -> None:
    loop = ControlLoop(FULL, Snapshot.of([node("a"), node("b")]))
    found = outcomes(loop, *(pod(f"web-{index}", "2") for index in range(5)))
    assert [each.node for each in found] == ["a", "b", "a", "b", ""]
    assert found[-1].message == "0/2 nodes are available: 2 Insufficient cpu."
    assert [len(each.pods) for each in loop.snapshot.nodes.values()] == [2, 2]


def test_selects_highest_total_then_first_name() -> None:
    loop = ControlLoop(FULL, Snapshot.of([node("c"), node("b"), node("a"), node("small", "2")]))
    [found] = outcomes(loop, pod("web"))
    assert found.node == "a"
    assert dict(zip(found.candidates, found.totals, strict=True))["small"] < max(found.totals)


def test_pending_pod_does_not_affect_next_pod() -> None:
    snapshot = Snapshot.of([node("a", "1")])
    loop = ControlLoop(FULL, snapshot)
    assert outcomes(loop, pod("large", "2"))[0].node == ""
    assert loop.snapshot is snapshot
    assert outcomes(loop, pod("small", "1"))[0].node == "a"


@pytest.mark.parametrize(
    ("nodes", "waiting", "message"),
    [
        pytest.param([], pod("p"), "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            [*(node(f"small-{index}", "1") for index in range(10)), node("off", unschedulable=True)],
            pod("p", "2"),
            "0/11 nodes are available: 1 node(s) were unschedulable, 10 Insufficient cpu.",
            id="reasons are counted and sorted",
        ),
        pytest.param(
            [node("a", "1"), node("b", "1")],
            pod("p", "2", more={GPU: "1"}),
            f"0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient {GPU}.",
            id="all reasons of a node count",
        ),
        pytest.param(
            [node("a")],
            pod(
                "p",
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchFields": [
                                        {"key": "metadata.name", "operator": "In", "values": [name]}
                                        for name in ("x", "y")
                                    ]
                                }
                            ]
                        }
                    }
                },
            ),
            "0/1 nodes are available: pod affinity terms conflict.",
            id="a pod rejected without node reasons",
        ),
    ],
)
def test_message_equals_failed_scheduling_event(nodes: list[NodeInfo], waiting: Pod, message: str) -> None:
    [found] = outcomes(ControlLoop(FULL, Snapshot.of(nodes)), waiting)
    assert (found.node, found.message) == ("", message)


def test_places_nominated_pod_on_nominated_node() -> None:
    waiting = pod("web", nominated="b")
    loop = ControlLoop(FULL, Snapshot.of([node("a"), node("b")], [waiting]))
    assert outcomes(loop, waiting)[0].node == "b"
    assert not loop.snapshot.nominated


def test_reserves_room_for_the_nominated_pod() -> None:
    nominated = pod("first", "4", nominated="a", priority=5)
    loop = ControlLoop(FULL, Snapshot.of([node("a")], [nominated]))
    assert outcomes(loop, pod("web", "1", priority=5))[0].message == "0/1 nodes are available: 1 Insufficient cpu."


SEGREGATED = Snapshot.of([*(node(f"cpu-{index}", "2") for index in range(2)), node("gpu", "8", more={GPU: "8"})])


def test_extender_filters_only_nodes_that_pass_the_plugins() -> None:
    loop = ControlLoop(FULL, SEGREGATED, extender({"profile": "resource-segregation"}))
    found = outcomes(loop, *(pod(f"web-{index}", "2") for index in range(3)), pod("train", more={GPU: "1"}))
    assert [each.node for each in found] == ["cpu-0", "cpu-1", "", "gpu"]
    assert found[2].message == (
        "0/3 nodes are available: 1 node(s) were reserved for pods that ask for their resources, 2 Insufficient cpu."
    )
    assert {name: status.plugin for name, status in found[2].rejected.items()} == {
        "cpu-0": "NodeResourcesFit",
        "cpu-1": "NodeResourcesFit",
        "gpu": "ResourceSegregation",
    }


@pytest.mark.parametrize(
    ("weight", "wanted"),
    [
        pytest.param(1, "gpu", id="weight 1 lets the scheduler's own scores win"),
        pytest.param(13, "cpu", id="weight 13 outweighs all other scores"),
    ],
)
def test_extender_scores_are_weighted(weight: int, wanted: str) -> None:
    advised_against = [{"key": "x", "effect": "PreferNoSchedule"}]
    snapshot = Snapshot.of([node("cpu", taints=advised_against), node("gpu", more={GPU: "8"})])
    preferred = {"pluginConfig": [{"name": "ResourceSegregation", "args": {"mode": "preferred"}}]}
    asked = extender({"profile": "resource-segregation", **preferred})
    assert outcomes(ControlLoop(FULL, snapshot, asked, weight=weight), pod("web"))[0].node == wanted


def test_plugins_still_filter_exempt_pods() -> None:
    agents = [pod(f"agent-{index}", "2", priority=2_000_000_000) for index in range(7)]
    found = outcomes(ControlLoop(FULL, SEGREGATED, extender({"profile": "resource-segregation"})), *agents)
    assert sorted(each.node for each in found) == ["", "cpu-0", "cpu-1", "gpu", "gpu", "gpu", "gpu"]
    assert found[-1].message == "0/3 nodes are available: 3 Insufficient cpu."


def test_uses_the_profile_of_the_pods_scheduler() -> None:
    document = {"profile": "full", "profiles": {"strict": "resource-segregation"}}
    loop = ControlLoop(FULL, SEGREGATED, extender(document))
    found = outcomes(loop, pod("web-1", "4"), pod("web-2", "4", schedulerName="strict"))
    assert [each.node for each in found] == ["gpu", ""]


def test_only_the_pod_with_a_failing_plugin_stays_pending() -> None:
    loop = ControlLoop(FULL, Snapshot.of([node("a")]), PolicyExtender(failing_policy()))
    first, failed, last = outcomes(loop, pod("good-0"), pod("bad"), pod("good-1"))
    assert (first.node, last.node) == ("a", "a")
    assert failed.message.startswith(
        f"pod default/bad: plugin {PATH} failed in filter on node a: ZeroDivisionError: division by zero"
    )


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
def test_places_all_members_of_a_gang(profile: str) -> None:
    loop = control_loop(2, 1, profile=profile)
    assert sorted(each.node for each in loop.run(TRAIN)) == ["n0", "n0", "n1"]
    assert sum(len(node.pods) for node in loop.snapshot.nodes.values()) == 3


@pytest.mark.parametrize("profile", ["all-nodes", "full"])
def test_places_members_only_if_every_member_has_room(profile: str) -> None:
    loop = control_loop(1, 1, profile=profile)
    found = list(loop.run(TRAIN))
    assert [each.node for each in found] == ["", "", ""]
    assert {each.message for each in found} == {"0/2 nodes are available: 2 gang does not fit."}
    assert not any(node.pods for node in loop.snapshot.nodes.values())


def test_reports_missing_members_of_a_gang() -> None:
    [found] = control_loop(9).run(TRAIN[:1])
    assert found.message == "0/1 nodes are available: 1 gang waits for members."


def test_outcomes_are_in_queue_order() -> None:
    pods = [TRAIN[0], plain("web"), TRAIN[1], TRAIN[2]]
    assert [each.pod.name for each in control_loop(9).run(pods)] == ["train-0", "web", "train-1", "train-2"]


def test_reads_pod_groups_from_the_cluster() -> None:
    pods = [member(f"train-{index}", None, group="train", requests=CPU) for index in range(2)]
    assert [each.node for each in control_loop(2, groups=2).run(pods)] == ["n0", "n0"]
    assert [each.node for each in control_loop(2, groups=3).run(pods)] == ["", ""]
