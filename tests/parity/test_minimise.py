"""Minimised cases are minimal and keep the difference."""

from __future__ import annotations

from tests.parity.generator.cases import case
from tests.parity.generator.features import Family
from tests.parity.minimise import minimise
from tests.parity.responder import Case


def has_difference(candidate: Case) -> bool:
    """Two nodes, of which one has a zone, and a pod with a container."""
    nodes = [each for each in candidate["objects"] if each["kind"] == "Node"]
    zones = [node for node in nodes if "topology.kubernetes.io/zone" in node.get("metadata", {}).get("labels", {})]
    return len(nodes) >= 2 and len(zones) >= 1 and bool(candidate["pod"].get("spec", {}).get("containers"))


def test_minimised_case_has_no_removable_part() -> None:
    original = next(drawn for number in range(50) if has_difference(drawn := case(1, Family.FILTER, number)))
    smallest = minimise(original, has_difference)
    assert has_difference(smallest)
    assert [node["kind"] for node in smallest["objects"]] == ["Node", "Node"]
    assert sorted(len(node.get("metadata", {}).get("labels", {})) for node in smallest["objects"]) == [0, 1]
    assert smallest["pod"].keys() <= {"apiVersion", "kind", "spec"}
    assert smallest["pod"]["spec"] == {"containers": [{}]}


def test_does_not_change_the_original_case() -> None:
    original = case(1, Family.SCORE, 1)
    minimise(original, lambda _: True)
    assert original == case(1, Family.SCORE, 1)
