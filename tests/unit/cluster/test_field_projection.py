"""The fields that are kept of each resource, and how Berth's rejections are distinguished from others'.

A test here that has to be changed for more to be kept, or for another shape, is the time to raise FORM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from berth.cluster.berth_reasons import BERTH_REASONS, IN_TREE, reasons_of
from berth.cluster.field_projection import (
    PROJECTION_VERSION,
    RequiredFields,
    projection_id,
    projections,
    rejected_by_berth,
    resources,
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
from berth.scheduling.framework.plugin import FilterPlugin
from berth.scheduling.framework.status import SUCCESS, Status
from berth.scheduling.objects import NodeInfo, Pod, read_node
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import decode_shared_fields
from berth.scheduling.plugins.registry import REGISTRY
from tests.bench import large_cluster
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

LITTLE = RequiredFields()
EVERYTHING = RequiredFields(spreading=True, images=True)

REASON_OF_A_PLUGIN_OF_THE_USERS = "node(s) were not to my liking"

WHOLE_NODE: dict[str, Any] = {
    "metadata": {"name": "n1", "uid": "u", "labels": {"a": "b"}, "annotations": {"x": "y"}, "managedFields": [{}]},
    "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"},
    "status": {
        "phase": "Running",
        "allocatable": {"cpu": "8", "pods": "110"},
        "capacity": {"cpu": "8"},
        "conditions": [
            {"type": "DiskPressure", "status": "False"},
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z", "reason": "KubeletReady"},
        ],
        "images": [{"names": ["nginx:1"], "sizeBytes": 7}],
    },
}

WHOLE_POD: dict[str, Any] = {
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "u",
        "labels": {"app": "web"},
        "annotations": {"x": "y"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}],
    },
    "spec": {
        "schedulerName": "berth",
        "priority": 7,
        "priorityClassName": "high",
        "preemptionPolicy": "Never",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "serviceAccountName": "web",
        "containers": [
            {
                "name": "app",
                "image": "nginx",
                "env": [{"name": "PASSWORD", "value": "secret"}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
                "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "name": "x"}],
            }
        ],
        "volumes": [{"name": "v", "secret": {}}, {"name": "i", "image": {"reference": "weights"}}],
    },
    "status": {"phase": "Pending", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "False"}]},
}


def running(pod: dict[str, Any]) -> dict[str, Any]:
    return pod | {
        "spec": pod["spec"] | {"nodeName": "n1"},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "hostIP": "10.0.0.1"},
    }


def kept(resource: Resource, found: Mapping[str, Any], needs: RequiredFields = LITTLE) -> dict[str, Any]:
    """What is kept; a compact pod's shared part decoded."""
    trimmed = dict(projections(needs)[resource](orjson.loads(orjson.dumps(found))))
    if "shared" in trimmed:
        trimmed["shared"] = decode_shared_fields(str(trimmed["shared"]))
    return trimmed


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
def test_keeps_exactly_these_fields(resource: Resource, found: dict[str, Any], wanted: dict[str, Any]) -> None:
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


def test_keeps_images_for_profiles_that_score_them() -> None:
    assert kept(NODES, WHOLE_NODE, EVERYTHING)["status"]["images"] == [{"names": ["nginx:1"], "sizeBytes": 7}]
    spec = kept(PODS, WHOLE_POD, EVERYTHING)["shared"]["spec"]
    assert spec["containers"][0]["image"] == "nginx"
    assert spec["volumes"] == [{"name": "i", "image": {"reference": "weights"}}]
    assert "image" not in kept(PODS, running(WHOLE_POD), EVERYTHING)["shared"]["spec"]["containers"][0]


def test_every_watched_resource_has_a_projection() -> None:
    assert set(resources(LITTLE)) == set(projections(LITTLE)) == set(BASE_RESOURCES)
    assert set(resources(EVERYTHING)) == set(projections(EVERYTHING)) == {*BASE_RESOURCES, *SPREAD_RESOURCES}


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


def test_projected_pod_of_deployment_is_below_one_kilobyte() -> None:
    trim = projections(LITTLE)[PODS]
    of_deployments = [
        pod for pod in large_cluster.pods(40) if pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
    ]
    sizes = [len(orjson.dumps(trim(pod))) for pod in of_deployments]
    assert sum(sizes) / len(sizes) < 900
    assert sum(map(len, map(orjson.dumps, of_deployments))) > 4 * sum(sizes)


def rejected(message: object, *, scheduled: str = "False", **parts: Any) -> bool:
    condition = {"type": "PodScheduled", "status": scheduled, "reason": "Unschedulable", "message": message}
    found = WHOLE_POD | {"status": {"phase": "Pending", "conditions": [condition]}} | parts
    trimmed = kept(PODS, found)
    assert "available" not in str(trimmed)
    return rejected_by_berth(trimmed)


@pytest.mark.parametrize("reason", sorted(BERTH_REASONS))
def test_marks_pod_that_berth_rejected(reason: str) -> None:
    assert rejected(f"0/20 nodes are available: 20 {reason}. no new claims to deallocate, preemption: 0/20 nodes are …")
    assert rejected(f"0/20 nodes are available: 3 Insufficient cpu, 17 {reason}. preemption: not helpful.")
    assert rejected(f"0/20 nodes are available: 3 {reason}, 17 node(s) were unschedulable. preemption: not helpful.")
    assert rejected(f"0/20 nodes are available: 20 {reason}")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("0/3 nodes are available: 3 Insufficient cpu. preemption: none.", id="an in-tree reason"),
        pytest.param("0/3 nodes are available: 3 node(s) were not ready to go. none.", id="a longer reason"),
        pytest.param("node(s) were not ready", id="a text that counts no nodes"),
        pytest.param("", id="no message"),
        pytest.param(None, id="null"),
        pytest.param(7, id="a number"),
    ],
)
def test_does_not_mark_pod_that_others_rejected(message: object) -> None:
    assert not rejected(message)


def test_marks_by_condition_of_pending_pods_only() -> None:
    message = f"0/1 nodes are available: 1 {min(BERTH_REASONS)}."
    assert rejected(message)
    assert not rejected(message, scheduled="True")
    assert not rejected(message, spec=WHOLE_POD["spec"] | {"nodeName": "n1"})
    assert not rejected_by_berth(WHOLE_POD)


@pytest.mark.parametrize("conditions", [None, 7, [], [7], [{"type": "PodScheduled"}], [{"type": "Ready"}]])
def test_does_not_mark_pod_without_the_condition(conditions: object) -> None:
    assert not rejected_by_berth(kept(PODS, WHOLE_POD | {"status": {"conditions": conditions}}))


def test_every_filter_of_berth_has_reasons_and_no_in_tree_filter_counts() -> None:
    assert REGISTRY.keys() > IN_TREE
    for name, registered in REGISTRY.items():
        if name in IN_TREE:
            assert not reasons_of(registered.plugin) & BERTH_REASONS
        elif issubclass(registered.plugin, FilterPlugin):  # type: ignore[arg-type]
            assert reasons_of(registered.plugin) <= BERTH_REASONS
            assert reasons_of(registered.plugin)


class Picky(FilterPlugin):
    name = "berth_plugins.picky:Picky"

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS


@pytest.mark.parametrize(
    ("profile", "spreading", "images"),
    [("label-priority", False, False), ("resource-segregation", False, False), ("full", True, True)],
)
def test_keeps_union_of_fields_that_profiles_read(profile: str, spreading: bool, images: bool) -> None:
    for document in (
        BerthConfiguration(profile=profile),
        BerthConfiguration(profile="label-priority", profiles={"other-scheduler": profile}),
    ):
        needs = RequiredFields.of(document.policy())
        assert (needs.spreading, needs.images) == (spreading, images)


@pytest.mark.parametrize(
    ("profile", "message", "is_own"),
    [
        pytest.param(
            "label-priority", "0/1 nodes are available: 1 Insufficient cpu.", False, id="the scheduler's alone"
        ),
        pytest.param("full", "0/1 nodes are available: 1 Insufficient cpu.", True, id="perhaps Berth's, too"),
        pytest.param(
            "full", "0/2 nodes are available: 2 Insufficient example.com/x, 1 other.", True, id="any resource"
        ),
        pytest.param("full", "0/1 nodes are available: 1 node(s) had untolerated taint(s). no", True, id="a taint"),
        pytest.param(
            "full", "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.", True, id="anti-affinity"
        ),
        pytest.param("full", "0/1 nodes are available: 1 Insufficient room for it.", False, id="another text"),
    ],
)
def test_in_tree_reasons_count_when_a_profile_has_that_filter(profile: str, message: str, is_own: bool) -> None:
    needs = RequiredFields.of(BerthConfiguration(profile=profile).policy())
    pod = WHOLE_POD | {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}}
    assert rejected_by_berth(kept(PODS, pod, needs)) is is_own


def test_reasons_of_custom_plugins_count() -> None:
    assert reasons_of(Picky()) == {REASON_OF_A_PLUGIN_OF_THE_USERS}
    message = f"0/1 nodes are available: 1 {REASON_OF_A_PLUGIN_OF_THE_USERS}."
    pod = WHOLE_POD | {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}}
    assert not rejected_by_berth(kept(PODS, pod))
    assert rejected_by_berth(kept(PODS, pod, RequiredFields(berth_reasons=BERTH_REASONS | reasons_of(Picky()))))


def test_keeps_annotations_that_resources_are_counted_by() -> None:
    needs = RequiredFields.of(configuration().policy())
    bound = asking_object(node="n", annotations={**on_device(1), "example.com/other": "x"}, gpumem="1")
    assert kept(NODES, counted_node_object(sizes="8000"), needs)["metadata"]["annotations"] == {SIZES: "8000"}
    assert kept(PODS, bound, needs)["metadata"]["annotations"] == on_device(1)
    assert "annotations" not in kept(NODES, counted_node_object(sizes="8000"))["metadata"]
    assert "annotations" not in kept(PODS, bound)["metadata"]


def test_projected_object_is_read_like_the_original() -> None:
    needs = RequiredFields.of(configuration().policy())
    asks = asking_object(node="n", annotations=on_device(1), gpumem="1")
    assert PodReader().read(dict(projections(needs)[PODS](asks))) == PodReader().read(asks)
    found = read_node(kept(NODES, counted_node_object(sizes="8000"), needs))
    assert isinstance(found, NodeInfo)
    assert found.annotations == {SIZES: "8000"}


@pytest.mark.parametrize(
    ("resources", "message", "is_own"),
    [
        pytest.param([LICENCES], "Insufficient example.com/licence", True, id="a resource that Berth counts"),
        pytest.param([SLICES], "Insufficient example.com/licence", False, id="one that it does not"),
        pytest.param([LICENCES], "Insufficient cpu", False, id="cpu"),
        pytest.param(
            [LICENCES],
            "the pod's request of example.com/licence is not an amount of at most 10^15",
            True,
            id="an amount that is none",
        ),
        pytest.param(
            [LICENCES], "node(s) had an amount of example.com/licence that cannot be read", True, id="a node's"
        ),
    ],
)
def test_shortages_of_counted_resources_are_berths_reasons(
    resources: list[Mapping[str, object]], message: str, is_own: bool
) -> None:
    needs = RequiredFields.of(configuration(*resources).policy())
    condition = {"type": "PodScheduled", "status": "False", "message": f"0/1 nodes are available: 1 {message}. no new"}
    assert rejected_by_berth(kept(PODS, WHOLE_POD | {"status": {"conditions": [condition]}}, needs)) is is_own


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
    assert len(forms) == 5
    assert all(form.startswith(str(PROJECTION_VERSION)) for form in forms)
    assert (SERVICES in projections(EVERYTHING)) is (STATEFUL_SETS in projections(EVERYTHING)) is True
