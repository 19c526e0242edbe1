"""Changes of amounts: of each form of a request, and of each source of a capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.unit.cli.explain.cases import LICENCE, Object, changes

LOWERED = "lower the pod's request of cpu from {} to 4"


@pytest.mark.parametrize(
    ("pod", "before"),
    [
        pytest.param(pod_with(requests={"cpu": "5"}), "5", id="a container"),
        pytest.param(pod_with(containers=[container(cpu="3"), container("side", cpu="3")]), "6", id="two containers"),
        pytest.param(
            pod_with(containers=[container(cpu="1")], initContainers=[container("init", cpu="5")]),
            "5",
            id="an init container",
        ),
        pytest.param(pod_with(containers=[container()], resources={"requests": {"cpu": "5"}}), "5", id="the pod"),
        pytest.param(pod_with(containers=[container(cpu="4")], overhead={"cpu": "1"}), "5", id="with overhead"),
        pytest.param(
            pod_with(
                containers=[{"name": "main", "resources": {"requests": {"cpu": "5"}, "limits": {"cpu": "5"}}}],
            ),
            "5",
            id="with a limit",
        ),
    ],
)
def test_lowers_a_request_wherever_it_stands(pod: Object, before: str) -> None:
    assert changes(pod, node_with("a")) == [LOWERED.format(before)]


def counted(**resource: Any) -> Mapping[str, Any]:
    return {"profile": "managed-resources", "managedResources": [{"name": LICENCE, **resource}]}


@pytest.mark.parametrize(
    ("document", "labels", "annotations", "allocatable", "wanted"),
    [
        pytest.param(
            counted(capacity={"nodeLabel": "l"}), {"l": "x"}, {}, {}, "set the label l of node a to", id="a label"
        ),
        pytest.param(
            counted(capacity={"nodeAnnotation": "l"}),
            {},
            {"l": "x"},
            {},
            "set the annotation l of node a to",
            id="an annotation",
        ),
        pytest.param(
            counted(), {}, {}, {LICENCE: "-1"}, f"set the allocatable {LICENCE} of node a to", id="the allocatable"
        ),
        pytest.param(
            counted(devices={"sizes": {"nodeLabel": "l"}}),
            {"l": "8_x"},
            {},
            {},
            "set the label l of node a to",
            id="sizes of devices",
        ),
        pytest.param(
            counted(devices={"count": {"nodeLabel": "n"}, "size": {"nodeLabel": "l"}}),
            {"n": "x", "l": "x"},
            {},
            {},
            "set the label n of node a to an amount, 1 or more; set the label l of node a to",
            id="a number of devices",
        ),
    ],
)
def test_corrects_a_capacity_where_the_node_says_it(
    document: Mapping[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    allocatable: Mapping[str, str],
    wanted: str,
) -> None:
    node = node_with("a", labels, allocatable=allocatable)
    node["metadata"] = {**dict(node["metadata"]), "annotations": annotations}  # type: ignore[call-overload]
    pod = pod_with(requests={LICENCE: "2"})
    assert changes(pod, node, document=document)[:1] == [f"{wanted} an amount, 2 or more"]
