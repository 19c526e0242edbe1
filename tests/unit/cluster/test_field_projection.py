"""The fields that are kept of each resource.

A test here that has to be changed for more to be kept, or for another shape, is the time to raise FORM.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest

from berth.cluster.field_projection import (
    BERTH_REASONS,
    PROJECTION_VERSION,
    RequiredFields,
    projection_id,
    projections,
)
from berth.cluster.watch.resources import (
    BASE_RESOURCES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    SERVICES,
    SPREAD_RESOURCES,
    STATEFUL_SETS,
    Resource,
)
from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.counted import (
    LICENCE,
    LICENCES,
    SIZES,
    SLICES,
    asking_object,
    configuration,
    counted_node_object,
    on_device,
)
from tests.unit.cluster.projected import EVERYTHING, LITTLE, WHOLE_NODE, WHOLE_POD, kept, running

SHARED_METADATA = {
    "namespace": "shop",
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}],
}
HOST_PORT = {"hostPort": 81}


@pytest.mark.parametrize(
    ("resource", "found", "wanted"),
    [
        pytest.param(
            NODES,
            WHOLE_NODE,
            {
                "metadata": {"name": "n1", "labels": {"a": "b"}},
                "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
                "status": {
                    "phase": "Running",
                    "allocatable": {"cpu": "8", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
            id="a node",
        ),
        pytest.param(
            PODS,
            running(WHOLE_POD),
            {
                "metadata": {"name": "web-0", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
                "spec": {"nodeName": "n1"},
                "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"},
                "shared": {
                    "metadata": SHARED_METADATA,
                    "spec": {
                        "schedulerName": "berth",
                        "priority": 7,
                        "containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}, "ports": [HOST_PORT]}],
                    },
                },
            },
            id="a running pod",
        ),
        pytest.param(
            PODS,
            WHOLE_POD,
            {
                "metadata": {"name": "web-0", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
                "status": {"phase": "Pending"},
                "shared": {
                    "metadata": SHARED_METADATA,
                    "spec": {
                        "schedulerName": "berth",
                        "priority": 7,
                        "priorityClassName": "high",
                        "preemptionPolicy": "Never",
                        "nodeSelector": {"disk": "ssd"},
                        "tolerations": [{"operator": "Exists"}],
                        "containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}, "ports": [HOST_PORT]}],
                    },
                },
            },
            id="a pending pod",
        ),
        pytest.param(
            PODS,
            running(WHOLE_POD) | {"status": {"phase": "Succeeded", "startTime": "2026-01-01T00:00:00Z"}},
            {"metadata": {"name": "web-0", "namespace": "shop", "uid": "u"}, "status": {"phase": "Succeeded"}},
            id="a finished pod",
        ),
        pytest.param(
            POD_DISRUPTION_BUDGETS,
            {
                "metadata": {"name": "b", "namespace": "shop", "uid": "u"},
                "spec": {"selector": {}, "minAvailable": 1},
                "status": {"disruptionsAllowed": 0, "disruptedPods": {"web-0": "x"}, "currentHealthy": 1},
            },
            {
                "metadata": {"name": "b", "namespace": "shop"},
                "spec": {"selector": {}},
                "status": {"disruptionsAllowed": 0, "disruptedPods": {"web-0": "x"}},
            },
            id="a PodDisruptionBudget",
        ),
        pytest.param(
            PRIORITY_CLASSES,
            {"metadata": {"name": "high", "uid": "u"}, "value": 7, "globalDefault": False, "description": "x"},
            {"metadata": {"name": "high"}, "value": 7, "globalDefault": False},
            id="a PriorityClass",
        ),
        pytest.param(
            NAMESPACES,
            {"metadata": {"name": "shop", "uid": "u", "labels": {"a": "b"}}, "spec": {"finalizers": []}},
            {"metadata": {"name": "shop", "labels": {"a": "b"}}},
            id="a namespace",
        ),
    ],
)
def test_keeps_exactly_the_expected_fields(resource: Resource, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert kept(resource, found) == wanted


@pytest.mark.parametrize("resource", SPREAD_RESOURCES, ids=str)
def test_keeps_services_and_controllers_for_default_topology_spread(resource: Resource) -> None:
    found = {
        "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}},
        "spec": {"selector": {"app": "web"}, "replicas": 3, "template": {"spec": {}}},
        "status": {"replicas": 3},
    }
    wanted = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}}
    assert kept(resource, found, EVERYTHING) == wanted
    assert resource not in projections(LITTLE)


def test_keeps_images_for_profiles_that_score_by_them() -> None:
    assert kept(NODES, WHOLE_NODE, EVERYTHING)["status"]["images"] == [{"names": ["nginx:1"], "sizeBytes": 7}]
    spec = kept(PODS, WHOLE_POD, EVERYTHING)["shared"]["spec"]
    assert spec["containers"][0]["image"] == "nginx"
    assert spec["volumes"] == [{"name": "i", "image": {"reference": "weights"}}]
    assert "image" not in kept(PODS, running(WHOLE_POD), EVERYTHING)["shared"]["spec"]["containers"][0]


def test_every_watched_resource_has_a_projection() -> None:
    assert set(projections(LITTLE)) == set(BASE_RESOURCES)
    assert set(projections(EVERYTHING)) == {*BASE_RESOURCES, *SPREAD_RESOURCES}


def test_projection_of_running_pod_ignores_kubelet_status() -> None:
    pod = running(WHOLE_POD)
    reported = pod["status"] | {
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T00:00:00Z"}],
        "containerStatuses": [
            {"name": "app", "ready": True, "restartCount": 3, "resources": {"requests": {"cpu": "1"}}}
        ],
        "podIP": "10.0.0.2",
    }
    assert kept(PODS, pod | {"status": reported}) == kept(PODS, pod)


def test_projection_ignores_kubelet_heartbeat() -> None:
    beat = WHOLE_NODE["status"]["conditions"][1] | {"lastHeartbeatTime": "2026-01-01T00:05:00Z"}
    assert kept(NODES, WHOLE_NODE | {"status": WHOLE_NODE["status"] | {"conditions": [beat]}}) == kept(
        NODES, WHOLE_NODE
    )


def test_pods_of_one_controller_share_one_text() -> None:
    trim = projections(LITTLE)[PODS]
    other = running(WHOLE_POD) | {"metadata": WHOLE_POD["metadata"] | {"name": "web-1", "uid": "v"}}
    one, another = trim(running(WHOLE_POD)), trim(orjson.loads(orjson.dumps(other)))
    assert one["shared"] is another["shared"]


@pytest.mark.parametrize(
    ("profile", "spreading", "images"),
    [("label-priority", False, False), ("resource-segregation", False, False), ("full", True, True)],
)
def test_keeps_the_union_of_fields_that_profiles_read(profile: str, spreading: bool, images: bool) -> None:
    for document in (
        BerthConfiguration(profile=profile),
        BerthConfiguration(profile="label-priority", profiles={"other-scheduler": profile}),
    ):
        needs = RequiredFields.of(document.policy())
        assert (needs.spreading, needs.images) == (spreading, images)


def test_keeps_what_explains_why_a_pod_waits_for_explanations_only() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    waiting = deepcopy(WHOLE_POD)
    waiting["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}
    waiting["spec"].pop("nodeName", None)
    waiting["status"] = {"phase": "Pending", "conditions": [{**condition, "lastProbeTime": None}]}
    found = kept(PODS, waiting, RequiredFields(explanations=True))
    assert {key: found["metadata"][key] for key in ("creationTimestamp", "finalizers")} == {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["example.com/hold"],
    }
    assert found["status"]["conditions"] == [condition]
    assert not {"creationTimestamp", "finalizers"} & kept(PODS, waiting)["metadata"].keys()
    placed = {**waiting, "spec": {**waiting["spec"], "nodeName": "n1"}}
    assert kept(PODS, placed, RequiredFields(explanations=True)) == kept(PODS, placed)


def test_keeps_annotations_used_to_count_resources() -> None:
    needs = RequiredFields.of(configuration().policy())
    bound = asking_object(node="n", annotations={**on_device(1), "example.com/other": "x"}, gpumem="1")
    assert kept(NODES, counted_node_object(sizes="8000"), needs)["metadata"]["annotations"] == {SIZES: "8000"}
    assert kept(PODS, bound, needs)["metadata"]["annotations"] == on_device(1)
    assert "annotations" not in kept(NODES, counted_node_object(sizes="8000"))["metadata"]
    assert "annotations" not in kept(PODS, bound)["metadata"]


def test_projection_id_changes_with_counted_resources() -> None:
    """A watcher that goes on from what another one kept would not see what that one left out."""
    by_annotation = {"name": LICENCE, "requests": {"podAnnotation": "seats"}}
    policies = [configuration(*each).policy() for each in ([LICENCES], [SLICES], [by_annotation])]
    forms = {projection_id(RequiredFields.of(policy)) for policy in policies}
    assert len({*forms, projection_id(RequiredFields.of(BerthConfiguration().policy()))}) == 4


def test_projection_id_differs_for_different_fields() -> None:
    forms = {
        projection_id(RequiredFields(spreading, images)) for spreading in (False, True) for images in (False, True)
    }
    forms.add(projection_id(RequiredFields(berth_reasons=BERTH_REASONS | {"another reason"})))
    forms.add(projection_id(RequiredFields(explanations=True)))
    assert len(forms) == 6
    assert all(form.startswith(str(PROJECTION_VERSION)) for form in forms)
    assert (SERVICES in projections(EVERYTHING)) is (STATEFUL_SETS in projections(EVERYTHING)) is True
