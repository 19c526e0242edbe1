"""Pods that a floating pool rejects: the first line of the explanation. More nodes are never proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth_cli.explanation.explanation import Explanation, explain_pod
from berth_cli.explanation.report import document, headline
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.cli.explanation.cases import Object, changes, rules, target, waiting

SEAT, ZONE = "example.com/seat", "zone"
IN_CLUSTER = f"{SEAT} in the cluster"


def seats(number: int = 12, scope: str = "cluster", **more: Any) -> Mapping[str, Any]:
    counted = [{"name": SEAT, "capacity": {"value": number, "scope": scope}, **more}]
    return {"profile": "managed-resources", "managedResources": counted, "gangs": {"enabled": True}}


def asks(name: str, amount: int = 1, on: str = "", cpu: str = "0", **fields: Any) -> dict[str, Any]:
    return pod_with(name, requests={SEAT: str(amount), "cpu": cpu}, nodeName=on, **fields)


def waits(name: str, amount: int = 1, **fields: Any) -> Object:
    return waiting(asks(name, amount, **fields), IN_CLUSTER)


def member(number: int) -> Object:
    annotations = {"berth.dev/gang": "train", "berth.dev/gang-size": "4"}
    return asks(f"train-{number}", priority=3, metadata={"annotations": annotations})


def explained(pod: Object, *objects: Object, given: Mapping[str, Any]) -> Explanation:
    found = target(pod, *objects, document=given)
    return explain_pod(found, rules(given), weight=1, now=0, is_over=lambda: False)


NODES = [node_with("a", {ZONE: "x"}), node_with("b", {ZONE: "y"})]
HELD = [asks(f"h{number}", 3, on) for number, on in enumerate("abab")]
MORE = "more nodes do not help"
LARGER = "larger than the largest node (cpu {} of at most 4)"

CASES = [
    pytest.param(
        waits("p", priority=5),
        [*HELD, waits("first", priority=9), waits("other", priority=9), waits("later"), waits("last", priority=5)],
        seats(),
        f"0 of 12 {SEAT} left in the cluster; 5 pods wait for it, 2 of them before this one; {MORE}",
        id="a full pool: the pods that wait, and those of a higher priority",
    ),
    pytest.param(
        waits("p"),
        [*HELD, waits("older", metadata={"creationTimestamp": "2026-01-01T00:00:01Z"}), waits("new")],
        seats(),
        f"0 of 12 {SEAT} left in the cluster; 3 pods wait for it, 1 of them before this one; {MORE}",
        id="a full pool: an older pod of the same priority",
    ),
    pytest.param(
        asks("p"), HELD, seats(), f"0 of 12 {SEAT} left in the cluster; {MORE}", id="a full pool: no other pod waits"
    ),
    pytest.param(
        asks("p", cpu="99"),
        HELD,
        seats(),
        f"{LARGER.format(99)}; 0 of 12 {SEAT} left in the cluster; {MORE}",
        id="a full pool: all nodes have another reason, too",
    ),
    pytest.param(
        asks("p", 4),
        HELD[1:],
        seats(),
        f"3 of 12 {SEAT} left in the cluster, 4 requested; {MORE}",
        id="too little left",
    ),
    pytest.param(
        asks("p"),
        [*HELD[1:], waits("large", 4, priority=9)],
        seats(),
        f"3 of 12 {SEAT} left in the cluster, kept for waiting pods of a higher priority; 2 pods wait for it, 1 of "
        f"them before this one; {MORE}",
        id="what is left is kept for another pod",
    ),
    pytest.param(
        asks("p", 13),
        [],
        seats(),
        f"12 of 12 {SEAT} left in the cluster, 13 requested; {MORE}",
        id="above the capacity",
    ),
    pytest.param(
        asks("p", namespace="ml"),
        [asks("h", 2, "a", namespace="ml"), *HELD[2:]],
        seats(perNamespace=2),
        f"0 of 2 {SEAT} left in namespace ml; {MORE}",
        id="a full namespace",
    ),
    pytest.param(
        asks("p"),
        HELD,
        seats(6, ZONE),
        f"0 of 6 {SEAT} left in zone x; 0 of 6 {SEAT} left in zone y; {MORE}",
        id="full pools of a label: all of them",
    ),
    pytest.param(
        member(0),
        [*HELD[1:], *map(member, range(1, 4))],
        seats(),
        f"3 of 12 {SEAT} left in the cluster, 4 requested; 4 pods wait for it, 0 of them before this one; {MORE}",
        id="a gang: all that it needs",
    ),
]


@pytest.mark.parametrize(("pod", "objects", "given", "wanted"), CASES)
def test_first_line_names_the_remaining_units_and_the_waiting_pods(
    pod: Object, objects: Sequence[Object], given: Mapping[str, Any], wanted: str
) -> None:
    found = explained(pod, *NODES, *objects, given=given)
    name = f"{found.pod.namespace}/{found.pod.name}"
    assert headline(found) == f"{name}: pending: 0 of 2 nodes fit: {wanted}"


@pytest.mark.parametrize(("pod", "objects", "given", "_"), CASES)
def test_does_not_propose_more_nodes_for_a_full_pool(
    pod: Object, objects: Sequence[Object], given: Mapping[str, Any], _: str
) -> None:
    found = changes(pod, *NODES, *objects, document=given)
    assert any("raise the capacity" in each for each in found)
    assert not any("add a node" in each for each in found)


def test_pools_are_omitted_if_the_pod_lacks_another_resource() -> None:
    found = explained(pod_with(requests={SEAT: "1", "cpu": "9"}), *NODES, given=seats())
    assert headline(found) == f"default/p: pending: 0 of 2 nodes fit: {LARGER.format(9)}"


def test_node_without_the_label_is_rejected_with_the_name_of_the_label() -> None:
    found = explained(asks("p"), node_with("a"), given=seats(3, ZONE))
    assert [each.text for each in found.reasons] == [f"node(s) had no label {ZONE}, by which {SEAT} is counted"]


def test_document_has_the_numbers_of_the_pools() -> None:
    found = document(explained(asks("p", 2), *NODES, *HELD, waits("first", 2, priority=1), given=seats()))
    assert found["pools"] == [
        {"pool": f"{SEAT}@cluster", "capacity": 12, "held": 12, "kept": 2, "needed": 2, "waiting": 2, "before": 1}
    ]
    [changed] = [each for each in found["counterfactuals"] if each["changes"][0]["kind"] == "RaiseCapacity"]  # type: ignore[attr-defined]
    assert (changed["changes"][0]["from"], changed["changes"][0]["to"]) == (12, 16)
