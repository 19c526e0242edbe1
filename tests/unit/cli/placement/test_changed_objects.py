"""The objects of a dump after changes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from berth_cli.placement.changed_objects import AddNodes, Changes, change_objects
from berth_cli.terminal.input_files import InvalidInput
from tests.unit.cli.placement.objects import Object, deployed, node, pod, pods


def nodes(objects: list[Object]) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == "Node"}


def test_new_node_is_ready_and_schedulable_and_lacks_images() -> None:
    state = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    own = {"key": "example.com/gpu", "effect": "NoSchedule"}
    model = node("a", taints=[state, own], zone="z1")
    model["spec"]["unschedulable"] = True
    model["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    added = nodes(change_objects([model], Changes(add_nodes=(AddNodes(2, "a"),))).objects)
    assert list(added) == ["a", "a-new-1", "a-new-2"]
    new = added["a-new-2"]
    assert new["metadata"]["labels"] == {"kubernetes.io/hostname": "a-new-2", "zone": "z1"}
    assert (new["spec"]["taints"], new["spec"]["unschedulable"]) == ([own], None)
    assert new["status"]["allocatable"] == model["status"]["allocatable"]
    assert (new["status"]["conditions"], new["status"]["images"]) == ([{"type": "Ready", "status": "True"}], None)


def test_new_node_runs_the_pods_that_run_on_every_node() -> None:
    mirror = pod("static-a", "a", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    found = change_objects(
        [node("a"), pod("agent-x", "a", "DaemonSet/agent"), mirror, deployed("web-1", "a")],
        Changes(add_nodes=(AddNodes(1, "a"),)),
    )
    new = {name: on for name, on in pods(found).items() if on == "a-new-1"}
    assert new == {"agent-x-a-new-1": "a-new-1", "static-a-a-new-1": "a-new-1"}
    assert found.created == set()


def test_new_node_gets_an_unused_name() -> None:
    found = change_objects([node("a"), node("a-new-1")], Changes(add_nodes=(AddNodes(1, "a"), AddNodes(1, "a"))))
    assert list(nodes(found.objects)) == ["a", "a-new-1", "a-new-2", "a-new-3"]


def test_drain_cordons_the_node_and_recreates_pods_of_controllers() -> None:
    found = change_objects([node("a"), deployed("web-1", "a"), deployed("web-2", "b")], Changes(drain=("a",)))
    assert nodes(found.objects)["a"]["spec"]["unschedulable"] is True
    assert pods(found) == {"web-1": "", "web-2": "b"}
    assert found.created == {("default", "web-1")}


def test_drain_keeps_pods_that_run_on_every_node() -> None:
    found = change_objects([node("a"), pod("agent-x", "a", "DaemonSet/agent")], Changes(drain=("a",)))
    assert pods(found) == {"agent-x": "a"}


def test_drain_keeps_the_scheduling_rules_of_an_evicted_pod() -> None:
    found = change_objects([node("a"), deployed("web-1", "a", nodeSelector={"disk": "ssd"})], Changes(drain=("a",)))
    evicted: Any = next(each for each in found.objects if each["kind"] == "Pod")
    assert evicted["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert "status" not in evicted


def test_drain_names_pods_without_a_controller() -> None:
    found = change_objects([node("a"), pod("bare", "a")], Changes(drain=("a",)))
    assert pods(found) == {}
    assert found.notes == ["no controller creates these pods again: default/bare"]


@pytest.mark.parametrize(
    "leaving",
    [
        pytest.param({**deployed("web-1", "a"), "status": {"phase": "Succeeded"}}, id="has ended"),
        pytest.param(pod("web-1", "a", "ReplicaSet/x", metadata={"deletionTimestamp": "t"}), id="is being deleted"),
    ],
)
def test_drain_does_not_recreate_a_terminating_pod(leaving: Object) -> None:
    found = change_objects([node("a"), leaving], Changes(drain=("a",)))
    assert (pods(found), found.created, found.notes) == ({}, set(), [])


def test_drained_node_can_be_replaced_by_a_similar_node() -> None:
    found = change_objects([node("a"), deployed("web-1", "a")], Changes(add_nodes=(AddNodes(1, "a"),), drain=("a",)))
    unschedulable = {name: bool(each["spec"].get("unschedulable")) for name, each in nodes(found.objects).items()}
    assert unschedulable == {"a": True, "a-new-1": False}


def test_does_not_modify_the_given_objects() -> None:
    objects = [node("a"), deployed("web-1", "a"), pod("agent-x", "a", "DaemonSet/agent")]
    before = deepcopy(objects)
    change_objects(objects, Changes(add_nodes=(AddNodes(1, "a"),), drain=("a",)))
    assert objects == before


@pytest.mark.parametrize("changes", [Changes(add_nodes=(AddNodes(1, "wrker"),)), Changes(drain=("wrker",))])
def test_error_for_an_unknown_node_suggests_the_closest_name(changes: Changes) -> None:
    with pytest.raises(InvalidInput, match="the dump has no node wrker; did you mean worker"):
        change_objects([node("worker")], changes)
