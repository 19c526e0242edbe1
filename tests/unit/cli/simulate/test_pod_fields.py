"""Fields that no pod has, wherever scheduling would look for one."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import (
    V1Affinity,
    V1Container,
    V1ContainerPort,
    V1LabelSelector,
    V1LabelSelectorRequirement,
    V1NodeAffinity,
    V1NodeSelector,
    V1NodeSelectorRequirement,
    V1NodeSelectorTerm,
    V1ObjectMeta,
    V1OwnerReference,
    V1Pod,
    V1PodAffinity,
    V1PodAffinityTerm,
    V1PodAntiAffinity,
    V1PodSpec,
    V1PreferredSchedulingTerm,
    V1ResourceRequirements,
    V1Toleration,
    V1TopologySpreadConstraint,
    V1WeightedPodAffinityTerm,
)

from berth_cli.simulate import pod_fields
from berth_cli.simulate.pod_fields import Fields, unknown_fields

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


@pytest.mark.parametrize(
    ("spec", "path", "meant"),
    [
        pytest.param({"nodeSelecter": {}}, "spec.nodeSelecter", "nodeSelector", id="in the spec"),
        pytest.param(
            {"containers": [{"name": "a", "resource": {}}]}, "spec.containers[].resource", "resources", id="a container"
        ),
        pytest.param(
            {"initContainers": [{"resources": {"request": {}}}]},
            "spec.initContainers[].resources.request",
            "requests",
            id="resources",
        ),
        pytest.param(
            {"containers": [{"ports": [{"hostport": 80}]}]},
            "spec.containers[].ports[].hostport",
            "hostPort",
            id="a port",
        ),
        pytest.param(
            {"affinity": {"podAntiAfinity": {}}}, "spec.affinity.podAntiAfinity", "podAntiAffinity", id="affinity"
        ),
        pytest.param({"tolerations": [{"keey": "gpu"}]}, "spec.tolerations[].keey", "key", id="a toleration"),
        pytest.param(
            {"topologySpreadConstraints": [{"maxskew": 1}]},
            "spec.topologySpreadConstraints[].maxskew",
            "maxSkew",
            id="a spread constraint",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"labelSelector": {"matchLabel": {}}}]},
            "spec.topologySpreadConstraints[].labelSelector.matchLabel",
            "matchLabels",
            id="the selector of one",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpression": []}]}}}},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[].matchExpression",
            "matchExpressions",
            id="a term for nodes",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"value": ["a"]}]}]}}
                }
            },
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[].matchExpressions[].value",
            "values",
            id="a requirement of one",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {PREFERRED: [{"wieght": 1}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[].wieght",
            "weight",
            id="a preferred term for nodes",
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologykey": "zone"}]}}},
            f"spec.affinity.podAntiAffinity.{REQUIRED}[].topologykey",
            "topologyKey",
            id="a term for pods",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {PREFERRED: [{"podAffinityTerms": {}}]}}},
            f"spec.affinity.podAffinity.{PREFERRED}[].podAffinityTerms",
            "podAffinityTerm",
            id="a preferred term for pods",
        ),
    ],
)
def test_names_the_path_and_the_field_that_is_meant(spec: dict[str, Any], path: str, meant: str) -> None:
    assert list(unknown_fields({"spec": spec})) == [misspelt(path, meant)]


@pytest.mark.parametrize(
    ("pod", "path", "meant"),
    [
        pytest.param({"specs": {}}, "specs", "spec", id="the spec"),
        pytest.param({"metadata": {"lables": {}}}, "metadata.lables", "labels", id="the labels"),
        pytest.param(
            {"metadata": {"ownerReferences": [{"kinds": "Job"}]}},
            "metadata.ownerReferences[].kinds",
            "kind",
            id="an owner",
        ),
    ],
)
def test_names_fields_beside_the_spec(pod: dict[str, Any], path: str, meant: str) -> None:
    assert list(unknown_fields(pod)) == [misspelt(path, meant)]


def misspelt(path: str, meant: str) -> str:
    return f"{path}: a pod has no such field, so it has no effect; did you mean `{meant}`?"


def test_values_of_labels_and_of_the_wrong_type_are_no_fields() -> None:
    spec = {
        "nodeSelector": {"any": "label"},
        "tolerations": "all",
        "affinity": None,
        "containers": [5, {"resources": {"requests": {"example.com/any": "1"}}}],
        "topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"any": "label"}}}],
    }
    metadata = {"labels": {"any": "label"}, "annotations": {"any": "annotation"}, "managedFields": [{"any": "field"}]}
    status = {"any": "field"}
    assert list(unknown_fields({"metadata": metadata, "spec": spec, "status": status})) == []


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (V1Pod, pod_fields.POD),
        (V1ObjectMeta, pod_fields.OBJECT_META),
        (V1OwnerReference, pod_fields.OWNER_REFERENCE),
        (V1PodSpec, pod_fields.POD_SPEC),
        (V1Container, pod_fields.CONTAINER),
        (V1ContainerPort, pod_fields.PORT),
        (V1ResourceRequirements, pod_fields.RESOURCES),
        (V1Affinity, pod_fields.AFFINITY),
        (V1NodeAffinity, pod_fields.NODE_AFFINITY),
        (V1NodeSelector, pod_fields.NODE_SELECTOR),
        (V1NodeSelectorTerm, pod_fields.NODE_SELECTOR_TERM),
        (V1NodeSelectorRequirement, pod_fields.REQUIREMENT),
        (V1PreferredSchedulingTerm, pod_fields.PREFERRED_TERM),
        (V1PodAffinity, pod_fields.POD_AFFINITY),
        (V1PodAntiAffinity, pod_fields.POD_AFFINITY),
        (V1PodAffinityTerm, pod_fields.POD_AFFINITY_TERM),
        (V1WeightedPodAffinityTerm, pod_fields.WEIGHTED_TERM),
        (V1LabelSelector, pod_fields.LABEL_SELECTOR),
        (V1LabelSelectorRequirement, pod_fields.REQUIREMENT),
        (V1Toleration, pod_fields.TOLERATION),
        (V1TopologySpreadConstraint, pod_fields.SPREAD_CONSTRAINT),
    ],
)
def test_knows_every_field_of_the_api(kind: Any, fields: Fields) -> None:
    assert set(kind.attribute_map.values()) <= set(fields)
