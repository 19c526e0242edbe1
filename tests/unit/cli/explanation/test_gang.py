"""`--gang`: the verdict on a gang as a whole, its members, and what keeps the next one out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from berth_cli.explanation.gang import explain_gang, gang_document, gang_text
from berth_cli.explanation.target import Target, read_target
from berth_cli.terminal.input_files import InvalidInput
from tests.builders.gangs import custom_group_object, member_object
from tests.builders.nodes import node_with
from tests.builders.planned import gang_configuration
from tests.unit.cli.explanation.cases import Object

CPU = {"cpu": "2"}
CONFIGURATION = gang_configuration()


def member(name: str, gang: str = "train", size: int = 4, node: str = "", **fields: Any) -> Object:
    found = member_object(name, gang, size, requests=CPU, **fields)
    if node:
        found["spec"]["nodeName"] = node
    return {"kind": "Pod", **found}


def members(count: int, size: int = 4, gang: str = "train", **fields: Any) -> list[Object]:
    return [member(f"{gang}-{number}", gang, size, **fields) for number in range(count)]


def target(*objects: Object, pod: str = "ml/train-0") -> Target:
    return read_target([dict(each) for each in objects], "there", pod, CONFIGURATION.counting)


def text(*objects: Object, configuration: BerthConfiguration = CONFIGURATION) -> list[str]:
    return [" ".join(line.split()) for line in gang_text(explain_gang(target(*objects), configuration))]


# A node has 4 cpus, and a member asks for 2.
ROOM_FOR_FOUR: Sequence[Object] = [node_with("a"), node_with("b")]
ROOM_FOR_TWO: Sequence[Object] = [node_with("a")]


@pytest.mark.parametrize(
    ("objects", "headline"),
    [
        pytest.param(
            [*ROOM_FOR_FOUR, *members(4)],
            "can be placed: 4 members wait for a node, 4 are needed, and all of these have places",
            id="placeable",
        ),
        pytest.param(
            [*ROOM_FOR_FOUR, *members(3)], "pending: 3 members wait for a node, 4 are needed", id="members are missing"
        ),
        pytest.param(
            [*ROOM_FOR_TWO, *members(4)],
            "pending: 4 members wait for a node, 4 are needed, and there is room for 2 of them together",
            id="no room",
        ),
        pytest.param([*ROOM_FOR_FOUR, *members(4, node="a")], "placed: 4 members are on nodes", id="placed"),
        pytest.param(
            [*ROOM_FOR_FOUR, member("train-0"), member("train-1", node="a")],
            "placed: 1 members are on nodes; 1 more are placed one by one",
            id="a replacement",
        ),
    ],
)
def test_output_begins_with_the_verdict(objects: Sequence[Object], headline: str) -> None:
    assert text(*objects)[0] == f"gang ml/train: {headline}"


def test_gang_that_waits_for_a_pool_shows_how_many_members_have_room() -> None:
    counted = [{"name": "example.com/seat", "capacity": {"value": 3, "scope": "cluster"}}]
    configuration = gang_configuration(profile="managed-resources", definitions={}, managedResources=counted)
    gang = [
        {"kind": "Pod", **member_object(f"train-{number}", "train", 4, requests={"example.com/seat": "1"})}
        for number in range(4)
    ]
    lines = text(*ROOM_FOR_TWO, *gang, configuration=configuration)
    assert lines[0].endswith("4 members wait for a node, 4 are needed, and there is room for 3 of them together")
    assert lines[-1] == "1 Berth FloatingResources Insufficient example.com/seat in the cluster a"


def test_prints_placed_members_and_what_prevents_the_next_one() -> None:
    lines = text(*ROOM_FOR_TWO, *members(4))
    assert lines[2:7] == [
        "MEMBER STATE NODE",
        "ml/train-0 planned a",
        "ml/train-1 planned a",
        "ml/train-2 waiting",
        "ml/train-3 waiting",
    ]
    assert lines[8:] == [
        "With these on their nodes, the next member fits on no node:",
        "NODES RULE REASON FOR EXAMPLE",
        "1 kube-scheduler NodeResourcesFit Insufficient cpu a",
    ]


def test_reads_a_gang_of_a_pod_group_from_the_dump() -> None:
    group = custom_group_object("train", 2)
    pods = [{"kind": "Pod", **member_object(f"train-{number}", None, label="train", requests=CPU)} for number in (0, 1)]
    assert text(*ROOM_FOR_TWO, group, *pods)[0].startswith("gang ml/train: can be placed: 2 members wait")


def test_document_contains_members_and_reasons_with_codes() -> None:
    found = gang_document(explain_gang(target(*ROOM_FOR_TWO, *members(3, size=3)), CONFIGURATION))
    assert (found["gang"], found["verdict"], found["minimum"]) == ("ml/train", "pending", 3)
    assert (found["reason"], found["code"]) == ("gang does not fit", "GangDoesNotFit")
    assert found["members"] == [
        {"pod": "ml/train-0", "state": "planned", "node": "a"},
        {"pod": "ml/train-1", "state": "planned", "node": "a"},
        {"pod": "ml/train-2", "state": "waiting", "node": None},
    ]
    reasons: Any = found["reasons"]
    assert [each["code"] for each in reasons] == ["InsufficientResource"]


@pytest.mark.parametrize(
    ("pod", "document", "message"),
    [
        pytest.param(member("train-0"), {}, "the configuration does not enable gangs", id="gangs are disabled"),
        pytest.param(
            {"kind": "Pod", **member_object("train-0", None)},
            {"gangs": {"enabled": True}},
            "pod ml/train-0 is in no gang",
            id="a pod without a gang",
        ),
        pytest.param(
            member("train-0", priority=SYSTEM_CRITICAL_PRIORITY),
            {"gangs": {"enabled": True}},
            "pod ml/train-0 is in no gang",
            id="an exempt pod",
        ),
    ],
)
def test_rejects_a_pod_without_a_gang(pod: Object, document: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        explain_gang(target(*ROOM_FOR_TWO, pod), BerthConfiguration.model_validate(document))
