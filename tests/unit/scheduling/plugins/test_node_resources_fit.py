"""NodeResourcesFit: a node must have the requested resources, and is scored by its use of resources."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import asking, other, scores, verdict

plugin = NodeResourcesFit(NodeResourcesFitArgs())

GPU = "example.com/gpu"


def now(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE, reasons, "NodeResourcesFit")


def never(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, "NodeResourcesFit")


def on_node(requests: dict[str, str], **fields: Any) -> dict[str, Any]:
    return pod_with("other", requests=requests, nodeName="n", **fields)


def with_cpu(cpu: str) -> dict[str, Any]:
    return node_with(allocatable={"cpu": cpu})


@pytest.mark.parametrize(
    ("requests", "wanted"),
    [
        pytest.param({}, SUCCESS, id="no requests"),
        pytest.param({"cpu": "3", "memory": "7Gi"}, SUCCESS, id="exactly the remaining amount"),
        pytest.param({"cpu": "3001m"}, now("Insufficient cpu"), id="a thousandth of cpu too much"),
        pytest.param({"cpu": "3000.1m"}, now("Insufficient cpu"), id="thousandths are rounded up"),
        pytest.param({"memory": "7516192769"}, now("Insufficient memory"), id="a byte too much"),
        pytest.param({"memory": "7516192768.1"}, now("Insufficient memory"), id="bytes are rounded up"),
        pytest.param({"cpu": "4001m"}, never("Insufficient cpu"), id="more than the node has"),
        pytest.param({"cpu": "3500m", "memory": "9Gi"}, never("Insufficient cpu", "Insufficient memory"), id="one is"),
        pytest.param({"ephemeral-storage": "1"}, never("Insufficient ephemeral-storage"), id="missing on the node"),
        pytest.param({GPU: "3"}, never("Insufficient example.com/gpu"), id="more of an extended resource"),
        pytest.param({GPU: "2"}, now("Insufficient example.com/gpu"), id="more than its remaining amount"),
        pytest.param({GPU: "1"}, SUCCESS, id="its remaining amount"),
        pytest.param({GPU: "0"}, SUCCESS, id="an amount of 0"),
        pytest.param({"hugepages-2Mi": "2Mi"}, never("Insufficient hugepages-2Mi"), id="huge pages"),
        pytest.param({"attachable-volumes-x": "1"}, never("Insufficient attachable-volumes-x"), id="volumes to attach"),
        pytest.param({"kubernetes.io/x": "1"}, never("Insufficient kubernetes.io/x"), id="a native resource"),
        pytest.param({"storage": "1Ti"}, SUCCESS, id="names that are no resource of a node do not count"),
        pytest.param({"requests.example.com/gpu": "9"}, SUCCESS, id="names of quotas do not count"),
        pytest.param({"example.com/": "9"}, SUCCESS, id="invalid names do not count"),
    ],
)
def test_node_is_rejected_for_each_resource_that_is_insufficient(requests: dict[str, str], wanted: Status) -> None:
    placed = on_node({"cpu": "1", "memory": "1Gi", GPU: "1"})
    assert verdict(plugin, pod_with(requests=requests), node_with(allocatable={GPU: "2"}), placed) == wanted


def test_overcommitted_node_accepts_a_pod_without_requests() -> None:
    assert verdict(plugin, pod_with(requests={"cpu": "0"}), with_cpu("1"), on_node({"cpu": "2"})) == SUCCESS


@pytest.mark.parametrize(
    ("pods", "requests", "wanted"),
    [
        pytest.param({"pods": "2"}, {}, SUCCESS, id="one more pod is allowed"),
        pytest.param({"pods": "1"}, {}, now("Too many pods"), id="no more pods are allowed"),
        pytest.param({"pods": "0"}, {"cpu": "5"}, never("Too many pods", "Insufficient cpu"), id="it is first reason"),
        pytest.param({"pods": "1"}, {"cpu": "4"}, now("Too many pods", "Insufficient cpu"), id="always resolvable"),
    ],
)
def test_node_is_rejected_if_it_has_the_maximum_number_of_pods(
    pods: dict[str, str], requests: dict[str, str], wanted: Status
) -> None:
    assert verdict(plugin, pod_with(requests=requests), node_with(allocatable=pods), on_node({"cpu": "1m"})) == wanted


def test_node_without_allocatable_rejects_every_pod() -> None:
    silent = {"kind": "Node", "metadata": {"name": "n"}}
    assert verdict(plugin, pod_with(), silent) == now("Too many pods")
    assert verdict(plugin, pod_with(requests={"cpu": "1"}), silent) == never("Too many pods", "Insufficient cpu")


def test_terminated_pods_do_not_use_resources() -> None:
    done = on_node({"cpu": "4"}, status={"phase": "Succeeded"})
    assert verdict(plugin, pod_with(requests={"cpu": "4"}), node_with(), done) == SUCCESS


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param({"ignoredResources": [GPU]}, SUCCESS, id="by name"),
        pytest.param({"ignoredResourceGroups": ["example.com"]}, SUCCESS, id="by group"),
        pytest.param({"ignoredResourceGroups": ["com"]}, never("Insufficient example.com/gpu"), id="by whole group"),
        pytest.param({"ignoredResources": ["kubernetes.io/x"]}, never("Insufficient example.com/gpu"), id="another"),
    ],
)
def test_ignores_the_resources_named_in_the_arguments(args: dict[str, list[str]], wanted: Status) -> None:
    ignoring = NodeResourcesFit(NodeResourcesFitArgs.model_validate(args))
    assert verdict(ignoring, pod_with(requests={GPU: "1"}), node_with()) == wanted


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param({"ignoredResources": ["cpu"]}, "ignoredResources", id="a resource without a domain"),
        pytest.param({"ignoredResourceGroups": ["example.com/gpu"]}, "ignoredResourceGroups", id="a group with a name"),
        pytest.param(
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
                }
            },
            "requestedToCapacityRatio goes with type RequestedToCapacityRatio",
            id="a shape without points",
        ),
        pytest.param(
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 50, "score": 0}, {"utilization": 50, "score": 1}]
                    },
                }
            },
            "increasing order",
            id="a shape with decreasing utilization",
        ),
    ],
)
def test_error_names_invalid_arguments_of_the_fit_plugin(args: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NodeResourcesFitArgs.model_validate(args)


# NodeResourcesFit, score: the part of a node's resources that is free, or requested.

CPU_ONLY = [{"name": "cpu", "weight": 1}]


def score(args: dict[str, Any], pod: dict[str, Any], *placed: dict[str, Any], **allocatable: str) -> int:
    """Return the score of a node with this allocatable, and these pods on it."""
    plugin = NodeResourcesFit(NodeResourcesFitArgs.model_validate({"scoringStrategy": args} if args else {}))
    return scores(plugin, pod, node_with("n", allocatable=allocatable), node_with("another"), *placed)["n"]


@pytest.mark.parametrize(
    ("pod", "placed", "wanted"),
    [
        pytest.param(asking(cpu="1", memory="2Gi"), [], 75, id="a quarter of each taken"),
        pytest.param(asking(cpu="1", memory="2Gi"), [other(cpu="1", memory="4Gi")], 37, id="includes pods on the node"),
        pytest.param(asking(cpu="4", memory="8Gi"), [], 0, id="everything is used"),
        pytest.param(asking(cpu="5", memory="2Gi"), [], 37, id="usage above capacity counts 0 for that resource"),
        pytest.param(asking(), [], 97, id="a container without requests counts 100m and 200Mi"),
        pytest.param(asking(cpu="0", memory="0"), [], 100, id="a request of 0 is kept"),
        pytest.param(asking(cpu="0", memory="0"), [other()], 97, id="pods on the node also count with defaults"),
    ],
)
def test_least_allocated_prefers_emptier_nodes(pod: dict[str, Any], placed: list[dict[str, Any]], wanted: int) -> None:
    assert score({}, pod, *placed) == wanted


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        pytest.param(asking(cpu="1", memory="2Gi"), 25, id="a quarter of each taken"),
        pytest.param(asking(cpu="5", memory="2Gi"), 62, id="usage above capacity counts as full"),
    ],
)
def test_most_allocated_prefers_fuller_nodes(pod: dict[str, Any], wanted: int) -> None:
    assert score({"type": "MostAllocated"}, pod) == wanted


@pytest.mark.parametrize(
    ("resources", "pod", "allocatable", "wanted"),
    [
        pytest.param(
            [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}],
            asking(cpu="4", memory="0"),
            {},
            25,
            id="weights",
        ),
        pytest.param(
            [{"name": "cpu"}, {"name": "memory", "weight": 0}],
            asking(cpu="4", memory="0"),
            {},
            50,
            id="weight 1 by default",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}],
            asking(**{"cpu": "4", GPU: "1"}),
            {GPU: "2"},
            37,
            id="an extended resource",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}],
            asking(cpu="1"),
            {GPU: "2"},
            75,
            id="an unrequested extended resource is left out",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}],
            asking(**{"cpu": "1", GPU: "1"}),
            {},
            75,
            id="an extended resource missing on the node is left out",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": "ephemeral-storage", "weight": 1}],
            asking(cpu="2"),
            {"ephemeral-storage": "1Gi"},
            75,
            id="storage that the pod does not ask for is not",
        ),
    ],
)
def test_score_uses_the_resources_and_weights_of_the_arguments(
    resources: list[dict[str, Any]], pod: dict[str, Any], allocatable: dict[str, str], wanted: int
) -> None:
    assert score({"type": "LeastAllocated", "resources": resources}, pod, **allocatable) == wanted


@pytest.mark.parametrize(
    ("shape", "cpu", "wanted"),
    [
        pytest.param([(0, 0), (100, 10)], "1", 25, id="on the line"),
        pytest.param([(0, 10), (100, 0)], "1", 75, id="a falling line"),
        pytest.param([(0, 10), (3, 0)], "40m", 67, id="quotients go towards zero, where the line falls too"),
        pytest.param([(20, 3), (80, 7)], "100m", 30, id="before the first point, as there"),
        pytest.param([(20, 3), (80, 7)], "4", 70, id="after the last point, as there"),
        pytest.param([(0, 0), (50, 10), (100, 5)], "3", 75, id="between the points it is between"),
        pytest.param([(0, 0), (99, 0), (100, 10)], "5", 100, id="usage above capacity counts as full"),
        pytest.param([(0, 0), (100, 10)], "0", 0, id="nothing"),
    ],
)
def test_shape_maps_the_requested_ratio_to_the_score(shape: list[tuple[int, int]], cpu: str, wanted: int) -> None:
    points = [{"utilization": utilization, "score": points} for utilization, points in shape]
    ratio = {"type": "RequestedToCapacityRatio", "resources": CPU_ONLY, "requestedToCapacityRatio": {"shape": points}}
    assert score(ratio, asking(cpu=cpu)) == wanted


@pytest.mark.parametrize(
    ("cpu", "memory", "wanted"),
    [
        pytest.param("2", "8Gi", 75, id="the mean"),
        pytest.param("1", "4Gi", 38, id="rounded to the nearest, up from a half"),
        pytest.param("2", "0", 50, id="a resource that scores 0 is left out"),
    ],
)
def test_score_of_several_resources_is_their_weighted_mean(cpu: str, memory: str, wanted: int) -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    assert score(ratio, asking(cpu=cpu, memory=memory)) == wanted
