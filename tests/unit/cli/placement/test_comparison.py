"""Effects on pods, from two runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth_cli.placement.changed_objects import PodName
from berth_cli.placement.comparison import ClusterLoad, Effect, PodComparison, cluster_load, compare
from berth_cli.placement.run import NOWHERE, Place, PlaceKind, Run
from tests.unit.cli.placement import objects

PENDING, EVICTED = Place(PlaceKind.PENDING), Place(PlaceKind.EVICTED)


def on(node: str) -> Place:
    return Place(PlaceKind.NODE, node)


def run(places: dict[PodName, Place], on_nodes: dict[PodName, str] | None = None, priority: int = 0) -> Run:
    return Run(places, on_nodes or {}, dict.fromkeys(places, priority), {})


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param(on("a"), on("a"), Effect.SAME, id="the same node"),
        pytest.param(PENDING, PENDING, Effect.SAME, id="still pending"),
        pytest.param(on("a"), on("b"), Effect.MOVED, id="another node"),
        pytest.param(on("a"), PENDING, Effect.NEWLY_PENDING, id="loses its node"),
        pytest.param(EVICTED, PENDING, Effect.NEWLY_PENDING, id="evicted before, pending now"),
        pytest.param(PENDING, on("a"), Effect.NEWLY_PLACED, id="gets a node"),
        pytest.param(EVICTED, on("a"), Effect.NEWLY_PLACED, id="is not evicted any more"),
        pytest.param(on("a"), EVICTED, Effect.EVICTED, id="evicted from a node"),
        pytest.param(PENDING, EVICTED, Effect.EVICTED, id="placed and then evicted"),
        pytest.param(on("a"), NOWHERE, Effect.DELETED, id="deleted from a node"),
        pytest.param(PENDING, NOWHERE, Effect.DELETED, id="deleted while it waits"),
    ],
)
def test_reports_the_effect_on_a_pod(before: Place, after: Place, wanted: Effect) -> None:
    assert PodComparison(("default", "p"), 0, before, after).effect is wanted


def test_uses_the_current_node_if_only_one_run_decided_on_the_pod() -> None:
    pod = ("default", "drained")
    [found] = compare(run({}, {pod: "a"}), run({pod: on("b")}, {pod: "b"})).pods
    assert (found.before, found.after, found.effect) == (on("a"), on("b"), Effect.MOVED)


def test_lists_pods_without_a_decision_if_they_are_named() -> None:
    pod = ("default", "scaled-down")
    [found] = compare(run({}, {pod: "a"}), run({}), also=[pod]).pods
    assert found.effect is Effect.DELETED


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


def load(nodes: list[NodeInfo], *counted: ManagedResource) -> ClusterLoad:
    return cluster_load(Run({}, {}, {}, {each.name: each for each in nodes}, Counting(counted)))


def test_counts_only_schedulable_nodes() -> None:
    found = load([node("a", pod("p", "1")), node("b", pod("q", "4"), unschedulable=True)])
    assert (found.nodes, found.share("cpu")) == (1, 25)


def test_node_with_only_daemon_set_pods_is_unused() -> None:
    agent = pod("agent", "1", "DaemonSet/agent")
    nodes = [node("a"), node("b", agent), node("c", agent, pod("p", "1"))]
    assert load(nodes).unused == 2


def test_counts_a_resource_only_if_the_configuration_manages_it() -> None:
    holder = pod("p", "1")
    holder["spec"]["containers"][0]["resources"]["requests"]["example.com/seat"] = "1"
    labelled = replace(node("a", holder), labels={"seats": "4"})
    seats = ManagedResource.model_validate({"name": "example.com/seat", "capacity": {"nodeLabel": "seats"}})
    assert load([labelled], seats).share("example.com/seat") == 25
    assert load([labelled]).share("example.com/seat") is None
