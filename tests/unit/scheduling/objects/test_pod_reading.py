"""Reading pods from any JSON."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import WAITS_FOR_POOL
from tests.builders.pods import pod_object


def test_reads_fields_that_decisions_need() -> None:
    obj = pod_object("train-0", "ml", "uid-1", priority=7, controller_kind="Job")
    read = read_pod(obj)
    assert isinstance(read, Pod)
    assert (read.name, read.namespace, read.uid) == ("train-0", "ml", "uid-1")
    assert (read.priority, read.scheduler_name, read.controller_kind) == (7, "berth-scheduler", "Job")


@pytest.mark.parametrize(("value", "waits"), [(True, True), (False, False), ("true", False), (None, False)])
def test_reads_whether_the_pod_waits_for_a_pool(value: object, waits: bool) -> None:
    read = PodReader().read(pod_object("train-0", "ml", "uid-1") | {WAITS_FOR_POOL: value})
    assert isinstance(read, Pod)
    assert read.waits_for_pool is waits


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({}, id="an empty object"),
        pytest.param({"metadata": None, "spec": None, "status": None}, id="all null"),
        pytest.param({"metadata": {}, "spec": {}}, id="all empty"),
        pytest.param(
            {"metadata": {"name": None, "uid": None, "ownerReferences": None}, "spec": {"priority": None}},
            id="null fields",
        ),
    ],
)
def test_every_field_of_a_pod_may_be_absent_or_null(obj: object) -> None:
    read = read_pod(obj)
    assert isinstance(read, Pod)
    assert (read.name, read.namespace, read.uid, read.priority, read.controller_kind) == ("", "", "", None, "")


@pytest.mark.parametrize(
    ("obj", "cause"),
    [
        pytest.param(None, "Pod is not an object", id="null"),
        pytest.param([], "Pod is not an object", id="a list"),
        pytest.param("p", "Pod is not an object", id="a string"),
        pytest.param({"metadata": 7}, "Pod.metadata is not an object", id="metadata a number"),
        pytest.param({"metadata": []}, "Pod.metadata is not an object", id="metadata an empty list"),
        pytest.param({"metadata": False}, "Pod.metadata is not an object", id="metadata false"),
        pytest.param({"spec": "s"}, "Pod.spec is not an object", id="spec a string"),
        pytest.param({"spec": 0}, "Pod.spec is not an object", id="spec zero"),
        pytest.param({"spec": {"priority": "1"}}, "Pod.spec.priority is not an integer", id="priority a string"),
        pytest.param({"spec": {"priority": 1.0}}, "Pod.spec.priority is not an integer", id="priority a fraction"),
        pytest.param({"spec": {"priority": True}}, "Pod.spec.priority is not an integer", id="priority a boolean"),
    ],
)
def test_error_names_field_of_wrong_type(obj: object, cause: str) -> None:
    assert read_pod(obj) == UnreadableObject(cause)


@pytest.mark.parametrize(
    ("references", "kind"),
    [
        pytest.param([{"kind": "DaemonSet", "controller": True}], "DaemonSet", id="the controller"),
        pytest.param([{"kind": "DaemonSet"}], "", id="an owner that is not the controller"),
        pytest.param([{"kind": "DaemonSet", "controller": False}], "", id="an owner with controller false"),
        pytest.param([{"kind": "DaemonSet", "controller": "true"}], "", id="controller is a string"),
        pytest.param([{"kind": "X"}, {"kind": "Job", "controller": True}], "Job", id="the controller among owners"),
        pytest.param([None, 7, {"controller": True}], "", id="entries of the wrong type"),
        pytest.param({"kind": "DaemonSet", "controller": True}, "", id="not a list"),
    ],
)
def test_controller_is_the_owner_with_controller_true(references: object, kind: str) -> None:
    found = read_pod({"metadata": {"ownerReferences": references}})
    assert isinstance(found, Pod)
    assert found.controller_kind == kind
