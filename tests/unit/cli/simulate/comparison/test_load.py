"""The load of nodes, and how it moves."""

from __future__ import annotations

from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth_cli.simulate.comparison.load import NodeLoad, cluster_load, moved_loads, resources_shown
from tests.unit.cli.simulate.what_if import objects


def node(name: str, *pods: objects.Object, unschedulable: bool = False, **allocatable: str) -> NodeInfo:
    obj = objects.node(name)
    obj["spec"]["unschedulable"] = unschedulable
    obj["status"]["allocatable"].update({key.replace("_", "/"): value for key, value in allocatable.items()})
    info = read_node(obj)
    assert isinstance(info, NodeInfo)
    read = [read_pod(each) for each in pods]
    return info.with_pods(each for each in read if isinstance(each, Pod))


def pod(name: str, cpu: str, owner: str = "ReplicaSet/x") -> objects.Object:
    return objects.pod(name, "a", owner, cpu=cpu)


def test_counts_schedulable_nodes_alone() -> None:
    found = cluster_load([node("a", pod("p", "1")), node("b", pod("q", "4"), unschedulable=True)])
    assert (found.nodes, found.share("cpu")) == (1, 25)


def test_a_node_with_pods_of_daemon_sets_alone_is_unused() -> None:
    agent = pod("agent", "1", "DaemonSet/agent")
    nodes = [node("a"), node("b", agent), node("c", agent, pod("p", "1"))]
    assert cluster_load(nodes).unused == 2


def test_a_resource_that_no_node_has_has_no_share() -> None:
    assert cluster_load([node("a")]).share("nvidia.com/gpu") is None


def test_shows_cpu_memory_and_requested_extended_resources() -> None:
    gpu = pod("p", "1")
    gpu["spec"]["containers"][0]["resources"]["requests"] |= {"example.com/gpu": "1", "ephemeral-storage": "1"}
    plain, with_gpu = cluster_load([node("a")]), cluster_load([node("a", gpu)])
    assert resources_shown(plain) == ["cpu", "memory"]
    assert resources_shown(plain, with_gpu) == ["cpu", "memory", "example.com/gpu"]


def test_lists_nodes_whose_load_differs_largest_move_first() -> None:
    before = {"a": node("a", pod("p", "1")), "b": node("b", pod("q", "4")), "same": node("same", pod("r", "1"))}
    after = {"a": node("a", pod("p", "2")), "b": node("b"), "same": node("same", pod("r", "1"))}
    assert moved_loads(before, after) == [
        NodeLoad("b", {"cpu": 100, "memory": 0}, {"cpu": 0, "memory": 0}),
        NodeLoad("a", {"cpu": 25, "memory": 0}, {"cpu": 50, "memory": 0}),
    ]


def test_a_node_that_is_new_has_no_load_before() -> None:
    [found] = moved_loads({}, {"a": node("a", pod("p", "1"))})
    assert (found.before, found.after) == (None, {"cpu": 25, "memory": 0})
