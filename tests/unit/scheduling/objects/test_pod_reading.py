"""Reading pods and nodes from whatever arrives as one."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import NodeInfo, Pod, Unreadable, read_node, read_nodes, read_pod
from tests.builders.nodes import node_object
from tests.builders.pods import pod_object

NOT_STRINGS = "node(s) had labels that are not strings"


def test_a_pod_is_read_with_what_decisions_need() -> None:
    obj = pod_object("train-0", "ml", "uid-1", priority=7, controller_kind="Job")
    read = read_pod(obj)
    assert isinstance(read, Pod)
    assert (read.name, read.namespace, read.uid) == ("train-0", "ml", "uid-1")
    assert (read.priority, read.scheduler_name, read.controller_kind) == (7, "berth", "Job")


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
def test_everything_in_a_pod_may_be_absent_or_null(obj: object) -> None:
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
def test_what_is_of_the_wrong_type_is_named(obj: object, cause: str) -> None:
    assert read_pod(obj) == Unreadable(cause)


@pytest.mark.parametrize(
    ("references", "kind"),
    [
        pytest.param([{"kind": "DaemonSet", "controller": True}], "DaemonSet", id="the controller"),
        pytest.param([{"kind": "DaemonSet"}], "", id="an owner that is no controller"),
        pytest.param([{"kind": "DaemonSet", "controller": False}], "", id="an owner that says it is none"),
        pytest.param([{"kind": "DaemonSet", "controller": "true"}], "", id="a string is no boolean"),
        pytest.param([{"kind": "X"}, {"kind": "Job", "controller": True}], "Job", id="the controller among owners"),
        pytest.param([None, 7, {"controller": True}], "", id="entries of the wrong type"),
        pytest.param({"kind": "DaemonSet", "controller": True}, "", id="no list"),
    ],
)
def test_the_controller_is_the_owner_that_says_so(references: object, kind: str) -> None:
    found = read_pod({"metadata": {"ownerReferences": references}})
    assert isinstance(found, Pod)
    assert found.controller_kind == kind


def test_a_node_is_its_name_and_labels() -> None:
    assert read_node(node_object("n1", {"a": "b"})) == NodeInfo("n1", {"a": "b"}, ready="True")


@pytest.mark.parametrize("obj", [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n1", "labels": None}}])
def test_a_node_without_labels_has_none(obj: object) -> None:
    assert read_node(obj) == NodeInfo("n1", {})


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([], id="a list"),
        pytest.param("a=b", id="a string"),
        pytest.param({"a": 1}, id="a number for a value"),
        pytest.param({"a": None}, id="null for a value"),
        pytest.param({"a": "b", "c": {}}, id="an object for one of the values"),
        pytest.param({True: "b"}, id="a key that is no string, as YAML makes one of `on`"),
    ],
)
def test_labels_of_the_wrong_type_are_the_nodes_defect(labels: object) -> None:
    assert read_node({"metadata": {"name": "n1", "labels": labels}}) == NodeInfo("n1", {}, NOT_STRINGS)


@pytest.mark.parametrize(
    "obj",
    [
        None,
        7,
        "n1",
        [],
        {},
        {"metadata": None},
        {"metadata": []},
        {"metadata": {"name": ""}},
        {"metadata": {"name": 1}},
    ],
)
def test_a_node_without_a_name_is_unreadable(obj: object) -> None:
    assert read_node(obj) == Unreadable("a node has no metadata.name")


def test_unreadable_nodes_are_counted() -> None:
    nodes, unreadable = read_nodes([node_object("a"), None, {}, node_object("b")])
    assert [node.name for node in nodes] == ["a", "b"]
    assert unreadable == 2


@pytest.mark.parametrize(
    ("metadata", "annotations"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"annotations": None}, {}, id="null"),
        pytest.param({"annotations": {"a": "1"}}, {"a": "1"}, id="texts"),
        pytest.param({"annotations": {"a": 1, "b": None, "c": "2"}}, {"a": "?", "b": "?", "c": "2"}, id="other types"),
        pytest.param({"annotations": {"a": "x" * 5000}}, {"a": "?"}, id="an endless text"),
        pytest.param({"annotations": ["a"]}, {}, id="no map"),
    ],
)
def test_annotations_that_something_may_be_counted_by(metadata: dict[str, object], annotations: dict[str, str]) -> None:
    """What cannot be read stays as what is no amount: left out, it would be as if nothing was asked for."""
    pod, node = read_pod({"metadata": metadata}), read_node({"metadata": {"name": "n", **metadata}})
    assert isinstance(pod, Pod)
    assert isinstance(node, NodeInfo)
    assert pod.annotations == node.annotations == annotations
    assert len({pod, pod}) == 1
