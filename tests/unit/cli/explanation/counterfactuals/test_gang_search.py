"""Counterfactuals of a gang: each change is evaluated with all members planned on all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from berth_cli.explanation.counterfactuals.search import Search, SearchEnd, search
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import Target, read_target
from tests.builders.gangs import member_object
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.planned import gang_configuration
from tests.builders.pods import pod_with
from tests.unit.cli.explanation.cases import Object

CONFIGURATION = gang_configuration()
LABELLED = gang_configuration(profile="label-priority")
SEAT = "example.com/seat"
ON_X: dict[str, Any] = {"spec": {"nodeSelector": {"pool": "x"}}}
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def member(number: int, size: object = 3, cpu: str = "2", **fields: Any) -> Object:
    requests: Any = {"requests": {"cpu": cpu}} if cpu else {}
    return {"kind": "Pod", **member_object(f"train-{number}", "train", size, **requests, **fields)}


def members(count: int, size: object = 3, **fields: Any) -> list[Object]:
    return [member(number, size, **fields) for number in range(count)]


def target(*objects: Object, pod: str = "ml/train-0") -> Target:
    return read_target([dict(each) for each in objects], "there", pod, CONFIGURATION.counting)


def found(*objects: Object, configuration: Any = CONFIGURATION) -> Search:
    return search(target(*objects).case, Rules(configuration), lambda: False)


def texts(result: Search) -> list[str]:
    return ["; ".join(change.text for change in each.changes) for each in result.found]


# A node has 4 cpus, and a member requests 2 cpus.
@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param(
            [node_with("a"), *members(3)],
            ["lower each member's request of cpu from 2 to 1333m", "add a node like a"],
            id="no room for one member: a third of the node for each, or one more node",
        ),
        pytest.param(
            [node_with("a"), *members(7, 7)],
            ["lower each member's request of cpu from 2 to 571m", "add 3 nodes like a"],
            id="no room for five members: the fewest nodes",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), *members(2)],
            ["create 1 more member of the gang"],
            id="a member is missing",
        ),
        pytest.param(
            [node_with("a"), *members(2)],
            [
                "create 1 more member of the gang; lower each member's request of cpu from 2 to 1333m",
                "create 1 more member of the gang; add a node like a",
            ],
            id="a member is missing, and room for it",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), *members(2), member(2, spec={"schedulingGates": [{"name": "g"}]})],
            [],
            id="a member is gated: no other one is created",
        ),
        pytest.param(
            [node_with("a"), node_with("b", taints=[TAINT]), *members(3)],
            [
                "let each member tolerate dedicated=ml:NoSchedule",
                "lower each member's request of cpu from 2 to 1333m",
                "add a node like a",
            ],
            id="a taint keeps the next member out",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), pod_with("web", nodeName="b", requests={"cpu": "3"}), *members(3)],
            [
                "lower each member's request of cpu from 2 to 1333m",
                "free 1 cpu on node b: end default/web (holds 3 cpu)",
                "add a node like a",
            ],
            id="a blocking pod: planned members are not deleted",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), member(0), member(1, cpu="5"), member(2)],
            ["lower each like member's request of cpu from 5 to 4"],
            id="a member other than the explained one",
        ),
        pytest.param(
            [node_with("a", {"pool": "x"}), node_with("b", allocatable={"cpu": "1"}), *members(2, 2, **ON_X, cpu="3")],
            ["lower each member's request of cpu from 3 to 2", "add a node like a"],
            id="the amount is of the node that the members select",
        ),
        pytest.param(
            [
                node_with("a", allocatable={"cpu": "4", "memory": "4Gi"}),
                *members(2, 2, requests={"cpu": "3", "memory": "3Gi"}, cpu=""),
            ],
            [
                "add a node like a",
                "lower each member's request of cpu from 3 to 2; lower each member's request of memory from 3Gi to 2Gi",
            ],
            id="two resources are short: the largest amounts of both",
        ),
        pytest.param(
            [node_with("a", unschedulable=True), *members(2, 2)],
            ["uncordon node a"],
            id="no amount has room: no lower request",
        ),
    ],
)
def test_finds_the_smallest_changes_that_place_the_gang(objects: Sequence[Object], wanted: Sequence[str]) -> None:
    assert texts(found(*objects)) == wanted


def test_raises_the_capacity_of_a_pool_for_all_members_of_a_gang() -> None:
    counted = [{"name": SEAT, "capacity": {"value": 4, "scope": "cluster"}}]
    configuration = gang_configuration(profile="managed-resources", definitions={}, managedResources=counted)
    gang = [member(number, cpu="", requests={SEAT: "1"}) for number in range(3)]
    holders = [pod_with(f"w{number}", nodeName="a", requests={SEAT: "1"}) for number in range(3)]
    assert texts(found(node_with("a"), *holders, *gang, configuration=configuration)) == [
        f"free 2 {SEAT}@cluster: end default/w0 (holds 1 {SEAT}), default/w1 (holds 1 {SEAT})",
        f"raise the capacity of {SEAT}@cluster from 4 to 6",
    ]


def test_changes_one_node_for_all_members_placed_there() -> None:
    objects = [node_with("a"), node_with("b", {PRIORITY: "1"}), *members(3)]
    assert texts(found(*objects, configuration=LABELLED))[:1] == [f"add the label {PRIORITY}=1 to node a"]


def test_gang_search_stops_at_the_time_limit() -> None:
    result = search(target(node_with("a"), *members(3)).case, Rules(CONFIGURATION), lambda: True)
    assert (result.found, result.end) == ([], SearchEnd.TIME)
