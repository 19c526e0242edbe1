"""NodeResourcesFit, filter: a node must have what the pod asks for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import verdict

plugin = NodeResourcesFit(NodeResourcesFitArgs())

GPU = "example.com/gpu"


def now(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE, reasons, "NodeResourcesFit")


def never(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, "NodeResourcesFit")


def other(requests: dict[str, str], **fields: Any) -> dict[str, Any]:
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
    placed = other({"cpu": "1", "memory": "1Gi", GPU: "1"})
    assert verdict(plugin, pod_with(requests=requests), node_with(allocatable={GPU: "2"}), placed) == wanted


def test_overcommitted_node_accepts_a_pod_without_requests() -> None:
    assert verdict(plugin, pod_with(requests={"cpu": "0"}), with_cpu("1"), other({"cpu": "2"})) == SUCCESS


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
    assert verdict(plugin, pod_with(requests=requests), node_with(allocatable=pods), other({"cpu": "1m"})) == wanted


def test_node_without_allocatable_rejects_every_pod() -> None:
    silent = {"kind": "Node", "metadata": {"name": "n"}}
    assert verdict(plugin, pod_with(), silent) == now("Too many pods")
    assert verdict(plugin, pod_with(requests={"cpu": "1"}), silent) == never("Too many pods", "Insufficient cpu")


def test_terminated_pods_do_not_use_resources() -> None:
    done = other({"cpu": "4"}, status={"phase": "Succeeded"})
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
