"""What a simulation cannot see of a pod: unknown fields, volumes and claims, and kinds that the dump lacks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from kubernetes.client import V1Affinity, V1Container, V1PodSpec, V1ResourceRequirements

from berth_cli.simulate.warnings import (
    AFFINITY_FIELDS,
    CONTAINER_FIELDS,
    POD_SPEC_FIELDS,
    RESOURCES_FIELDS,
    pod_warnings,
)

ALL = Counter({"Namespace": 1, "PriorityClass": 1, "Service": 1})
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": True}]}


def warnings(spec: dict[str, Any], kinds: Counter[str] = ALL, **metadata: object) -> list[str]:
    return pod_warnings([{"kind": "Pod", "metadata": metadata, "spec": spec}], kinds)


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        pytest.param(
            {"nodeSelecter": {}},
            "spec.nodeSelecter: a pod has no such field, so it has no effect; did you mean `nodeSelector`?",
            id="a misspelt selector",
        ),
        pytest.param(
            {"containers": [{"name": "a", "resource": {}}]},
            "spec.containers[].resource: a pod has no such field, so it has no effect; did you mean `resources`?",
            id="in a container",
        ),
        pytest.param(
            {"containers": [{"resources": {"request": {}}}]},
            "spec.containers[].resources.request: a pod has no such field, so it has no effect; "
            "did you mean `requests`?",
            id="in resources",
        ),
        pytest.param(
            {"affinity": {"antiAffinity": {}}},
            "spec.affinity.antiAffinity: a pod has no such field, so it has no effect; did you mean",
            id="in the affinity",
        ),
        pytest.param(
            {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
            "spec.volumes[].persistentVolumeClaim: volumes are not checked",
            id="a volume",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims: claims are not checked", id="a claim"
        ),
    ],
)
def test_warns_about_what_it_does_not_read(spec: dict[str, Any], warning: str) -> None:
    [found] = warnings(spec)
    assert found.startswith(warning)


@pytest.mark.parametrize(
    ("spec", "metadata", "warning"),
    [
        pytest.param({"priorityClassName": "urgent"}, {}, "spec.priorityClassName: the dump has no Pri", id="classes"),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaceSelector": {}}]}
                }
            },
            {},
            "namespaceSelector: the dump has no Namespaces",
            id="namespaces",
        ),
        pytest.param({}, OWNED, "the default spread needs Service, ", id="owners"),
    ],
)
def test_warns_about_kinds_that_the_dump_lacks(spec: dict[str, Any], metadata: dict[str, Any], warning: str) -> None:
    [found] = warnings(spec, Counter(), **metadata)
    assert found.startswith(warning)
    assert "kubectl get nodes,pods,ns,pdb,pc" in found
    assert warnings(spec, ALL, **metadata) == []


@pytest.mark.parametrize(
    ("spec", "metadata"),
    [
        pytest.param({"priorityClassName": "system-node-critical"}, {}, id="a class that every cluster has"),
        pytest.param({"priorityClassName": "urgent", "priority": 5}, {}, id="a priority that is known"),
        pytest.param({"topologySpreadConstraints": [{"maxSkew": 1}]}, OWNED, id="constraints of its own"),
        pytest.param({"volumes": [{"name": "tmp", "emptyDir": {}}]}, {}, id="a volume on any node"),
    ],
)
def test_warns_about_nothing_that_it_reads(spec: dict[str, Any], metadata: dict[str, Any]) -> None:
    assert warnings(spec, Counter(), **metadata) == []


def test_says_once_what_several_pods_have_in_common() -> None:
    pods: list[dict[str, object]] = [{"spec": {"nodeSelecter": {}}}, {"spec": {"nodeSelecter": {}}}]
    [found] = pod_warnings(pods, ALL)
    assert found.endswith("(2 pods)")


def test_knows_every_field_of_the_api() -> None:
    types: dict[Any, frozenset[str]] = {
        V1PodSpec: POD_SPEC_FIELDS,
        V1Container: CONTAINER_FIELDS,
        V1Affinity: AFFINITY_FIELDS,
        V1ResourceRequirements: RESOURCES_FIELDS,
    }
    for kind, known in types.items():
        assert set(kind.attribute_map.values()) <= known
