"""Reading nodes from any JSON."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject, read_node, read_pod
from berth.scheduling.objects.node import SPEC_UNREADABLE, STATUS_UNREADABLE
from tests.builders.nodes import node_object

NOT_STRINGS = "node(s) had labels that are not strings"


def test_reads_name_and_labels() -> None:
    assert read_node(node_object("n1", {"a": "b"})) == NodeInfo("n1", {"a": "b"}, ready="True")


@pytest.mark.parametrize("obj", [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n1", "labels": None}}])
def test_node_without_labels_has_an_empty_label_map(obj: object) -> None:
    assert read_node(obj) == NodeInfo("n1", {})


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([], id="a list"),
        pytest.param("a=b", id="a string"),
        pytest.param({"a": 1}, id="a number for a value"),
        pytest.param({"a": None}, id="null for a value"),
        pytest.param({"a": "b", "c": {}}, id="an object for one of the values"),
        pytest.param({True: "b"}, id="a key that is not a string"),
    ],
)
def test_labels_of_wrong_type_make_the_node_defective(labels: object) -> None:
    assert read_node({"metadata": {"name": "n1", "labels": labels}}) == NodeInfo("n1", {}, NOT_STRINGS)


@pytest.mark.parametrize(
    ("fields", "defect"),
    [
        pytest.param({"spec": {"taints": ["k"]}}, SPEC_UNREADABLE, id="a taint"),
        pytest.param({"status": {"allocatable": {"cpu": "much"}}}, STATUS_UNREADABLE, id="a quantity"),
        pytest.param({"status": {"conditions": "Ready"}}, STATUS_UNREADABLE, id="conditions"),
    ],
)
def test_unreadable_field_makes_the_node_defective(fields: dict[str, object], defect: str) -> None:
    found = read_node({"metadata": {"name": "n1"}, **fields})
    assert isinstance(found, NodeInfo)
    assert found.defect == defect


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
def test_node_without_name_is_unreadable(obj: object) -> None:
    assert read_node(obj) == UnreadableObject("a node has no metadata.name")


@pytest.mark.parametrize(
    ("metadata", "annotations"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"annotations": None}, {}, id="null"),
        pytest.param({"annotations": {"a": "1"}}, {"a": "1"}, id="strings"),
        pytest.param({"annotations": {"a": 1, "b": None, "c": "2"}}, {"a": "?", "b": "?", "c": "2"}, id="other types"),
        pytest.param({"annotations": {"a": "x" * 5000}}, {"a": "?"}, id="a very long string"),
        pytest.param({"annotations": ["a"]}, {}, id="not a map"),
    ],
)
def test_reads_annotations_used_for_counting(metadata: dict[str, object], annotations: dict[str, str]) -> None:
    """An unreadable amount is kept as invalid: if it were dropped, it would count as no request."""
    pod, node = read_pod({"metadata": metadata}), read_node({"metadata": {"name": "n", **metadata}})
    assert isinstance(pod, Pod)
    assert isinstance(node, NodeInfo)
    assert pod.annotations == node.annotations == annotations
    assert len({pod, pod}) == 1
