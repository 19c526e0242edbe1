"""NodePools and NodeOverlays of Karpenter: the fields that a policy requires, and the nodes that it would reject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.node_pools import manifests, rejections, template_node

LABEL = "priority.lixueduan.com"
LICENCE, LICENCES = "example.com/licence", "example.com/licences"
BY_LABEL = {
    "profile": "managed-resources",
    "managedResources": [{"name": LICENCE, "capacity": {"nodeLabel": LICENCES}}],
}
DEVICES = {
    "profile": "managed-resources",
    "managedResources": [
        {
            "name": "nvidia.com/gpumem",
            "devices": {
                "count": {"nodeLabel": "gpus"},
                "size": {"nodeAnnotation": "memory"},
                "percentName": "nvidia.com/percent",
            },
        },
        {"name": "example.com/seat", "capacity": {"nodeLabel": "seats"}, "requests": {"podAnnotation": "seats"}},
    ],
}
SEGREGATED = {"profile": "resource-segregation"}


def configuration(document: Mapping[str, Any]) -> BerthConfiguration:
    return BerthConfiguration.model_validate(document)


def pool(
    labels: Mapping[str, str] | None = None, *, annotations: Mapping[str, str] | None = None, requirements: object = ()
) -> dict[str, Any]:
    metadata = {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    template = {"metadata": metadata, "spec": {"requirements": requirements}}
    return {"metadata": {"name": "pool"}, "spec": {"template": template}}


@pytest.mark.parametrize(
    ("document", "labels", "annotations", "capacity"),
    [
        pytest.param({}, {LABEL: "1"}, {}, {}, id="the priority label"),
        pytest.param(
            {"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "rank"}}]},
            {"rank": "1"},
            {},
            {},
            id="a label of its own",
        ),
        pytest.param(BY_LABEL, {LICENCES: "1"}, {}, {LICENCE: "1"}, id="a capacity in a label"),
        pytest.param(
            DEVICES,
            {"gpus": "1", "seats": "1"},
            {"memory": "1"},
            {"nvidia.com/gpumem": "1", "nvidia.com/percent": "1"},
            id="devices, and requests by annotation, which Karpenter does not count",
        ),
        pytest.param(
            {
                "profile": "managed-resources",
                "managedResources": [
                    {"name": "example.com/seat", "capacity": {"value": 12, "scope": "cluster"}},
                    {"name": "example.com/conn", "capacity": {"value": 4, "scope": "rack"}},
                    {"name": LICENCE, "capacity": {"value": 4, "scope": "topology.kubernetes.io/zone"}},
                ],
            },
            {"rack": "1"},
            {},
            {},
            id="floating resources: the label of a scope, and no capacity of a node",
        ),
        pytest.param(
            {**BY_LABEL, "profiles": {"batch": "label-priority"}},
            {LABEL: "1", LICENCES: "1"},
            {},
            {LICENCE: "1"},
            id="the labels of all profiles",
        ),
    ],
)
def test_manifests_state_everything_that_the_policy_reads(
    document: Mapping[str, Any], labels: object, annotations: object, capacity: object
) -> None:
    node_pool, *overlays = manifests(configuration(document), "berth")
    template: Any = node_pool["spec"]["template"]
    assert template["metadata"].get("labels", {}) == labels
    assert template["metadata"].get("annotations", {}) == annotations
    assert [each["spec"]["capacity"] for each in overlays] == ([capacity] if capacity else [])


@pytest.mark.parametrize(
    ("mode", "names", "taints"),
    [
        pytest.param("required", ["berth", "berth-nvidia.com-gpu"], ["nvidia.com/gpu"], id="reserved nodes"),
        pytest.param("preferred", ["berth"], [], id="any pod may use them"),
    ],
)
def test_manifests_taint_the_pool_of_a_reserved_resource(mode: str, names: list[str], taints: list[str]) -> None:
    config = [{"name": "ResourceSegregation", "args": {"mode": mode}}]
    found = manifests(configuration({**SEGREGATED, "pluginConfig": config}), "berth")
    assert [each["metadata"]["name"] for each in found] == names
    specs = [each["spec"]["template"]["spec"] for each in found]
    assert [taint["key"] for spec in specs for taint in spec.get("taints", ())] == taints


def test_policy_accepts_the_nodes_of_its_own_manifests() -> None:
    for document in ({}, BY_LABEL, DEVICES, SEGREGATED):
        policy = configuration(document)
        pools = [each for each in manifests(policy, "berth") if each["kind"] == "NodePool"]
        assert [list(rejections(policy, template_node(each))) for each in pools] == [[]] * len(pools)


@pytest.mark.parametrize(
    ("document", "given", "expected"),
    [
        pytest.param({}, pool({LABEL: "10"}), [], id="the label"),
        pytest.param({}, pool(), [f"node(s) didn't have the priority label {LABEL}"], id="without the label"),
        pytest.param(
            {},
            pool({LABEL: "high"}),
            [f"node(s) had a priority label {LABEL} that is not an integer"],
            id="a value that is no integer",
        ),
        pytest.param(
            {},
            pool(requirements=[{"key": LABEL, "operator": "In", "values": ["10"]}]),
            [],
            id="the label as a requirement with one value",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "karpenter.k8s.aws/instance-cpu"}}]},
            pool(),
            [],
            id="a label that the provider sets",
        ),
        pytest.param(BY_LABEL, pool({LICENCES: "3"}), [], id="a capacity"),
        pytest.param(BY_LABEL, pool(), [f"Insufficient {LICENCE}"], id="without a capacity"),
        pytest.param(
            BY_LABEL, pool({LICENCES: "many"}), [f"Insufficient {LICENCE}"], id="a capacity that is no number"
        ),
        pytest.param(
            {"profile": "managed-resources", "managedResources": [{"name": LICENCE}]},
            pool(),
            [],
            id="a capacity that the kubelet reports",
        ),
        pytest.param(
            {
                "profile": "managed-resources",
                "managedResources": [{"name": LICENCE, "capacity": {"allocatable": "example.com/other"}}],
            },
            pool(),
            [],
            id="a capacity in another resource of its allocatable",
        ),
        pytest.param(SEGREGATED, pool(), [], id="resources of an unknown instance type"),
    ],
)
def test_rejections_name_the_label_or_amount_that_a_template_lacks(
    document: Mapping[str, Any], given: Mapping[str, Any], expected: list[str]
) -> None:
    assert list(rejections(configuration(document), template_node(given))) == expected
