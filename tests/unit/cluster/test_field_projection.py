"""The fields of each resource that are kept.

If a test here must change because more fields are kept, or because their form changes, raise PROJECTION_VERSION.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import orjson
import pytest

from berth.cluster.field_projection import BERTH_REASONS, PROJECTION_VERSION, RequiredFields, projection_id, projections
from berth.cluster.watch.resources import (
    BASE_RESOURCES,
    GANG_RESOURCES,
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
from berth.extender.outcomes import WAITING
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import PodGroupApi, gang_names, read_pod_group
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import (
    REPLACEMENT,
    UNDECIDED,
    decode_shared_fields,
    is_member,
    rejected_by_berth,
)
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
from tests.builders.gangs import custom_group_object, member_object, native_group_object
from tests.builders.pods import pod_object
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


def test_keeps_images_for_profiles_that_use_them_for_scores() -> None:
    assert kept(NODES, WHOLE_NODE, EVERYTHING)["status"]["images"] == [{"names": ["nginx:1"], "sizeBytes": 7}]
    spec = kept(PODS, WHOLE_POD, EVERYTHING)["shared"]["spec"]
    assert spec["containers"][0]["image"] == "nginx"
    assert spec["volumes"] == [{"name": "i", "image": {"reference": "weights"}}]
    assert "image" not in kept(PODS, running(WHOLE_POD), EVERYTHING)["shared"]["spec"]["containers"][0]


def test_every_watched_resource_has_a_projection() -> None:
    assert set(projections(LITTLE)) == set(BASE_RESOURCES)
    assert set(projections(EVERYTHING)) == {*BASE_RESOURCES, *SPREAD_RESOURCES}


def test_pods_of_one_controller_share_one_string_of_common_fields() -> None:
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


def test_keeps_the_fields_that_explain_a_waiting_pod_only_for_explanations() -> None:
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


def test_keeps_node_selection_fields_of_a_placed_pod_only_for_replacements() -> None:
    placed = deepcopy(WHOLE_POD)
    placed["spec"] |= {"nodeName": "n1", "nodeSelector": {"a": "b"}}
    found = kept(PODS, placed, RequiredFields(replacements=True))
    selecting = decode_shared_fields(found.pop(REPLACEMENT))
    names = {"nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"}
    assert selecting == {name: value for name, value in placed["spec"].items() if name in names}
    assert found == kept(PODS, placed)
    waiting = {**placed, "spec": {**placed["spec"], "nodeName": None}}
    assert kept(PODS, waiting, RequiredFields(replacements=True)) == kept(PODS, waiting)


def test_keeps_annotations_used_to_count_resources() -> None:
    needs = RequiredFields.of(configuration().policy())
    bound = asking_object(node="n", annotations={**on_device(1), "example.com/other": "x"}, gpumem="1")
    assert kept(NODES, counted_node_object(sizes="8000"), needs)["metadata"]["annotations"] == {SIZES: "8000"}
    assert kept(PODS, bound, needs)["metadata"]["annotations"] == on_device(1)
    assert "annotations" not in kept(NODES, counted_node_object(sizes="8000"))["metadata"]
    assert "annotations" not in kept(PODS, bound)["metadata"]


def test_projection_id_changes_with_counted_resources() -> None:
    """A watcher that resumed from another projection would miss the fields that the other projection dropped."""
    by_annotation = {"name": LICENCE, "requests": {"podAnnotation": "seats"}}
    policies = [configuration(*each).policy() for each in ([LICENCES], [SLICES], [by_annotation])]
    forms = {projection_id(RequiredFields.of(policy)) for policy in policies}
    assert len({*forms, projection_id(RequiredFields.of(BerthConfiguration().policy()))}) == 4


def test_projection_id_differs_for_different_fields() -> None:
    forms = {
        projection_id(RequiredFields(spreading, images)) for spreading in (False, True) for images in (False, True)
    }
    forms.add(projection_id(RequiredFields(berth_reasons=BERTH_REASONS | {"another reason"})))
    forms |= {projection_id(RequiredFields(explanations=True)), projection_id(RequiredFields(replacements=True))}
    forms.add(projection_id(RequiredFields(gangs=True)))
    assert len(forms) == 8
    assert all(form.startswith(str(PROJECTION_VERSION)) for form in forms)
    assert (SERVICES in projections(EVERYTHING)) is (STATEFUL_SETS in projections(EVERYTHING)) is True


GANGS = RequiredFields.of(BerthConfiguration.model_validate({"gangs": {"enabled": True}}).policy())


def test_watches_pod_groups_only_if_gangs_are_enabled() -> None:
    assert set(projections(GANGS)) - set(projections(LITTLE)) == set(GANG_RESOURCES)
    assert not any(each.is_optional for each in projections(RequiredFields.of(BerthConfiguration().policy())))


@pytest.mark.parametrize("api", [each.group for each in GANG_RESOURCES])
@pytest.mark.parametrize("build", [native_group_object, custom_group_object])
def test_projected_pod_group_parses_like_the_original(api: str, build: Callable[..., dict[str, Any]]) -> None:
    [resource] = [each for each in GANG_RESOURCES if each.group == api]
    whole = build(priority=3, scheduleTimeoutSeconds=9, minResources={"cpu": "4"}, disruptionMode={"single": {}})
    whole["status"] = {"phase": "Pending"}
    projected = kept(resource, whole, GANGS)
    assert read_pod_group(projected, PodGroupApi(api)) == read_pod_group(whole, PodGroupApi(api))
    assert projected.keys() == {"metadata", "spec"}
    assert projected["spec"].keys().isdisjoint({"minResources", "disruptionMode"})


@pytest.mark.parametrize(
    "way",
    [{}, {"gang": None, "label": "train"}, {"gang": None, "group": "train"}],
    ids=["annotations", "label", "spec"],
)
@pytest.mark.parametrize("node_name", ["", "n1"], ids=["waiting", "on a node"])
def test_projected_member_still_names_its_gang(way: dict[str, Any], node_name: str) -> None:
    projected = PodReader().read(dict(projections(GANGS)[PODS](member_object(**way, node_name=node_name))))
    assert isinstance(projected, Pod)
    assert gang_names(projected) == ("train",)
    assert projected.created_at == (None if node_name else 1767225600.0)


def test_creation_time_of_pods_is_dropped_without_gangs() -> None:
    assert "creationTimestamp" not in kept(PODS, member_object())["metadata"]


@pytest.mark.parametrize(("needs", "is_own"), [(GANGS, True), (LITTLE, False)], ids=["enabled", "off"])
@pytest.mark.parametrize("reason", ["gang waits for members", "gang does not fit", "gang size is below 1"])
def test_gang_reasons_belong_to_berth_only_with_gangs_enabled(reason: str, needs: RequiredFields, is_own: bool) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": f"0/3 nodes are available: 3 {reason}. no new"}
    assert rejected_by_berth(kept(PODS, WHOLE_POD | {"status": {"conditions": [condition]}}, needs)) is is_own


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        (member_object(), True),
        (member_object(gang=None, label="train"), True),
        (member_object(gang=None, legacy_label="train"), True),
        (member_object(gang=None, group="train"), True),
        (member_object(gang=None), False),
        (WHOLE_POD, False),
    ],
    ids=["annotations", "label", "legacy label", "spec", "none", "another pod"],
)
def test_projected_pod_is_recognized_as_a_gang_member(pod: dict[str, Any], wanted: bool) -> None:
    assert is_member(projections(GANGS)[PODS](pod)) is wanted


CREATED = "2026-03-01T12:00:00Z"
UNTRIED = {"createdAt": CREATED, "callFailed": False, "scheduler": "berth-scheduler"}
FAILED = {**UNTRIED, "callFailed": True}
URL = "https://berth.example.com/scheduler"


def undecided(pod: dict[str, Any]) -> object:
    return kept(PODS, pod | {"metadata": pod["metadata"] | {"creationTimestamp": CREATED}}).get(UNDECIDED)


def pod(*conditions: dict[str, object], **status: object) -> dict[str, Any]:
    return {**pod_object(), "status": {"phase": "Pending", "conditions": list(conditions), **status}}


def scheduled(reason: str, message: str, status: str = "False") -> dict[str, object]:
    return {"type": "PodScheduled", "status": status, "reason": reason, "message": message}


def changed(part: str, **fields: object) -> dict[str, Any]:
    found = pod()
    return found | {part: found[part] | fields}


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(pod(), UNTRIED, id="no scheduler has tried it"),
        pytest.param(pod_object(), UNTRIED, id="without status"),
        pytest.param(pod({"type": "Ready", "status": "False"}), UNTRIED, id="another condition"),
        pytest.param(changed("spec", schedulingGates=[{"name": "example.com/gate"}]), None, id="gated"),
        pytest.param(changed("metadata", deletionTimestamp=CREATED), None, id="being deleted"),
        pytest.param(changed("spec", nodeName="n1"), None, id="on a node"),
        pytest.param(pod(nominatedNodeName="n1"), None, id="nominated"),
        pytest.param({**pod(), "status": {"phase": "Failed"}}, None, id="ended"),
    ],
)
def test_marks_pods_that_no_scheduler_has_tried(obj: dict[str, Any], wanted: object) -> None:
    assert undecided(obj) == wanted


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        pytest.param(f'Post "{URL}/filter": remote error: tls: expired certificate', FAILED, id="expired certificate"),
        pytest.param(f'Post "{URL}/filter": dial tcp: lookup berth.example.com: no such host', FAILED, id="DNS"),
        pytest.param(f'Post "{URL}/filter": dial tcp 192.0.2.1:443: connect: connection refused', FAILED, id="refused"),
        pytest.param(
            f'Post "{URL}/filter": tls: failed to verify certificate: x509: certificate has expired',
            FAILED,
            id="expired certificate of the domain",
        ),
        pytest.param(f'Post "{URL}/filter_onlyone": context deadline exceeded', FAILED, id="timeout"),
        pytest.param(f"failed bind with extender at URL {URL}/bind, code 403", FAILED, id="another status than 200"),
        pytest.param("the gang did not come together", None, id="bind's own error"),
        pytest.param(WAITING, None, id="filter's own error"),
        pytest.param('running "VolumeBinding" filter plugin: timed out', None, id="error of another plugin"),
    ],
)
def test_marks_pods_whose_call_of_a_verb_failed(message: str, wanted: object) -> None:
    """The failures have the messages of kube-scheduler's HTTPExtender.send, with the configured address."""
    assert undecided(pod(scheduled("SchedulerError", message))) == wanted


@pytest.mark.parametrize("message", ["0/3 nodes are available: 3 Insufficient cpu.", "no nodes available to schedule"])
def test_does_not_mark_rejected_pods_as_undecided(message: str) -> None:
    assert undecided(pod(scheduled("Unschedulable", message))) is None
