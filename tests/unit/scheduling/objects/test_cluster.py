"""Reading of objects other than nodes and pods, and the pods that they select."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.fields.reading import UnreadableObject
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.cluster import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    Workload,
    Workloads,
    read_disruption_budget,
    read_namespace,
    read_priority_class,
    read_workload,
)
from tests.builders.pods import pod_with

WEB = {"matchLabels": {"app": "web"}}


def pod(labels: dict[str, str] | None = None, owner: dict[str, object] | None = None) -> Pod:
    obj = pod_with("p", {"app": "web"} if labels is None else labels)
    if owner is not None:
        obj["metadata"]["ownerReferences"] = [{"controller": True, **owner}]
    found = read_pod(obj)
    assert isinstance(found, Pod)
    return found


def budget(**fields: Any) -> PodDisruptionBudget:
    stated = {"namespace": pod().namespace, "selector": WEB, "disrupted": {}} | fields
    found = read_disruption_budget(
        {
            "metadata": {"name": "b", "namespace": stated["namespace"]},
            "spec": {"selector": stated["selector"]},
            "status": {"disruptionsAllowed": 2, "disruptedPods": stated["disrupted"]},
        }
    )
    assert isinstance(found, PodDisruptionBudget)
    return found


@pytest.mark.parametrize(
    ("found", "labels", "covers"),
    [
        pytest.param(budget(), {"app": "web"}, True, id="it selects the pod"),
        pytest.param(budget(), {"app": "db"}, False, id="other labels"),
        pytest.param(budget(namespace="other"), {"app": "web"}, False, id="another namespace"),
        pytest.param(budget(selector=None), {"app": "web"}, False, id="no selector"),
        pytest.param(budget(selector={}), {"app": "web"}, False, id="an empty selector"),
        pytest.param(
            budget(selector={"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
            {},
            False,
            id="a pod without labels",
        ),
        pytest.param(
            budget(selector={"matchExpressions": [{"key": "app", "operator": "in"}]}),
            {"app": "web"},
            False,
            id="invalid",
        ),
        pytest.param(budget(disrupted={"p": "2026-01-01T00:00:00Z"}), {"app": "web"}, False, id="disrupted before"),
    ],
)
def test_disruption_budget_covers_the_pods_that_its_selector_matches(
    found: PodDisruptionBudget, labels: dict[str, str], covers: bool
) -> None:
    assert found.covers(pod(labels)) is covers
    assert found.disruptions_allowed == 2


SERVICE = {"kind": "Service", "spec": {"selector": {"app": "web"}}}
OTHER_SERVICE = {"kind": "Service", "spec": {"selector": {"app": "web", "tier": "x"}}}
REPLICA_SET = {"kind": "ReplicaSet", "spec": {"selector": {"matchLabels": {"hash": "1"}}}}
CONTROLLER = {"kind": "ReplicationController", "spec": {"selector": {"rc": "1"}}}
OF_SET = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "w0"}
OF_CONTROLLER = {"kind": "ReplicationController", "apiVersion": "v1", "name": "w0"}


def workloads(*objects: dict[str, Any], namespace: str | None = None) -> Workloads:
    found = []
    for number, obj in enumerate(objects):
        metadata = {"name": f"w{number}", "namespace": namespace or pod().namespace}
        workload = read_workload({**obj, "metadata": metadata}, obj["kind"])
        assert isinstance(workload, Workload)
        found.append(workload)
    return Workloads.of(found)


@pytest.mark.parametrize(
    ("found", "owner", "selected"),
    [
        pytest.param(workloads(), None, {}, id="nothing selects the pod"),
        pytest.param(workloads(SERVICE), None, {"app": "web"}, id="a service"),
        pytest.param(workloads(OTHER_SERVICE), None, {}, id="a service of other pods"),
        pytest.param(workloads(SERVICE, namespace="other"), None, {}, id="a service in another namespace"),
        pytest.param(workloads({"kind": "Service", "spec": {}}), None, {}, id="a service without selector"),
        pytest.param(workloads(REPLICA_SET), OF_SET, {"hash": "1"}, id="its controller"),
        pytest.param(
            workloads(REPLICA_SET | {"kind": "StatefulSet"}),
            OF_SET | {"kind": "StatefulSet"},
            {"hash": "1"},
            id="its StatefulSet",
        ),
        pytest.param(workloads(REPLICA_SET), {**OF_SET, "name": "other"}, {}, id="another controller"),
        pytest.param(workloads(REPLICA_SET), {**OF_SET, "apiVersion": "v1"}, {}, id="another version"),
        pytest.param(workloads(REPLICA_SET), None, {}, id="no controller"),
        pytest.param(workloads(CONTROLLER), OF_CONTROLLER, {"rc": "1"}, id="a ReplicationController"),
        pytest.param(
            workloads({"kind": "ReplicationController", "spec": {}}, SERVICE),
            OF_CONTROLLER,
            {"app": "web"},
            id="a ReplicationController without selector beside a service",
        ),
        pytest.param(workloads(REPLICA_SET, SERVICE), OF_SET, {"app": "web", "hash": "1"}, id="both are ANDed"),
        pytest.param(workloads(CONTROLLER, SERVICE), OF_CONTROLLER, {"app": "web", "rc": "1"}, id="both maps"),
        pytest.param(
            workloads({"kind": "ReplicaSet", "spec": {}}, SERVICE),
            OF_SET,
            {"app": "web"},
            id="no selector beside a service",
        ),
    ],
)
def test_selector_combines_the_services_and_the_controller_of_a_pod(
    found: Workloads, owner: dict[str, object] | None, selected: dict[str, str]
) -> None:
    selector = found.selector_of(pod(owner=owner))
    assert {each.key: value for each in selector.requirements for value in each.values} == selected


def test_changed_workloads_do_not_modify_the_earlier_workloads() -> None:
    first = workloads(SERVICE, REPLICA_SET)
    namespace = pod().namespace
    gone = [("Service", namespace, "w0"), ("ReplicaSet", namespace, "w1"), ("ReplicaSet", namespace, "absent")]
    assert first.changed((), gone) == Workloads()
    assert first.changed(first.services[namespace], gone[:1]) == first


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            read_priority_class(
                {"metadata": {"name": "high"}, "value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
            ),
            PriorityClass("high", 5, True, "Never"),
            id="a priority class",
        ),
        pytest.param(read_priority_class({"metadata": {"name": "c"}}), PriorityClass("c", 0), id="its defaults"),
        pytest.param(read_priority_class({"value": "5"}), "PriorityClass.value is not an integer", id="its value"),
        pytest.param(
            read_namespace({"metadata": {"name": "n", "labels": {"a": "b"}}}),
            Namespace("n", {"a": "b"}),
            id="a namespace",
        ),
        pytest.param(
            read_namespace({"metadata": {"labels": []}}),
            "Namespace.metadata.labels is not a map of strings",
            id="labels",
        ),
        pytest.param(read_disruption_budget({"spec": []}), "PodDisruptionBudget.spec is not an object", id="a budget"),
        pytest.param(
            read_workload({"spec": {"selector": []}}, "Service"),
            "Service.spec.selector is not a map of strings",
            id="a service",
        ),
    ],
)
def test_reads_an_object_or_names_the_malformed_field(found: object, expected: object) -> None:
    assert found == (UnreadableObject(expected) if isinstance(expected, str) else expected)
