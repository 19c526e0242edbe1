"""`--gang`: the verdict on a gang as a whole, its members, and the reasons against the next member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from berth_cli.explanation.answer import answer_to
from berth_cli.explanation.explanation import explain_pod
from berth_cli.explanation.gang import explain_gang, gang_document, gang_text
from berth_cli.explanation.inputs import Inputs
from berth_cli.explanation.report import headline
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import Target, read_target
from berth_cli.sources.attempts import Attempts
from berth_cli.terminal.input_files import InvalidInput
from tests.builders.gangs import custom_group_object, member_object
from tests.builders.nodes import node_with
from tests.builders.planned import gang_configuration
from tests.unit.cli.explanation.cases import Object, recorded

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


# A node has 4 cpus, and a member requests 2 cpus.
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
        pytest.param([*ROOM_FOR_FOUR, *members(3)], "pending: 3 of 4 members exist", id="members are missing"),
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
def test_gang_explanation_begins_with_the_verdict(objects: Sequence[Object], headline: str) -> None:
    assert text(*objects)[0] == f"gang ml/train: {headline}"


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param([*ROOM_FOR_FOUR, *members(3)], "3 of 4 members exist", id="members are missing"),
        pytest.param([*ROOM_FOR_TWO, *members(4)], "needs 4 x 2 cpu, there is room for 2 on 1 node", id="no room"),
    ],
)
def test_first_line_of_a_member_states_why_the_gang_waits(objects: Sequence[Object], wanted: str) -> None:
    found = explain_pod(target(*objects), Rules(CONFIGURATION), weight=1, now=0, is_over=lambda: False)
    assert f"nodes fit: gang ml/train: {wanted}" in headline(found)


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


def test_prints_planned_members_and_the_reasons_against_the_next_member() -> None:
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


SEAT = "example.com/seat"
SEATS = gang_configuration(
    profile="managed-resources",
    definitions={},
    managedResources=[{"name": SEAT, "capacity": {"value": 3, "scope": "cluster"}}],
)
RIVAL: Object = {"kind": "Pod", **member_object("rival", None, priority=3, requests={"cpu": "2"})}
FAILED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulerError", "message": "boom"}]}


def differing(size: object = 3, **fields: Any) -> Sequence[Object]:
    """Return members with different requests. size and fields apply to the second member."""
    requests: list[Any] = [{"cpu": "5"}, {"cpu": "2"}, {"cpu": "1", SEAT: "2"}]
    found = [
        {"kind": "Pod", **member_object(f"train-{at}", "train", 3, requests=own)} for at, own in enumerate(requests)
    ]
    own = member_object("train-1", "train", size, requests=requests[1])
    found[1] = {"kind": "Pod", **own, **{name: {**own[name], **value} for name, value in fields.items()}}
    return found


@pytest.mark.parametrize(
    ("objects", "headline"),
    [
        pytest.param(
            [*ROOM_FOR_FOUR, *differing()],
            "pending: 3 members wait for a node, 3 are needed, and there is room for 2 of them together",
            id="one member is larger than all nodes",
        ),
        pytest.param(
            [*ROOM_FOR_FOUR, *differing(spec={"nodeName": "a"})],
            "placed: 1 members are on nodes; 2 more are placed one by one",
            id="one member is on a node",
        ),
        pytest.param(
            [*ROOM_FOR_FOUR, *differing(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            "pending: 2 of 3 members exist",
            id="one member is being deleted",
        ),
        pytest.param(
            [*ROOM_FOR_FOUR, *differing(spec={"schedulingGates": [{"name": "g"}]})],
            "pending: 2 of 3 members exist, 1 more are gated",
            id="one member is gated",
        ),
        pytest.param(
            [*ROOM_FOR_FOUR, *differing(size="some")],
            "pending: 2 of 3 members exist, others are rejected: gang size is not a number",
            id="the size of one member is not a number",
        ),
        pytest.param(
            [*ROOM_FOR_TWO, *differing(spec={"priority": 5}), RIVAL],
            "pending: 3 members wait for a node, 3 are needed, and there is room for 2 of them together",
            id="one member has a higher priority, and another pod has one between",
        ),
        pytest.param(
            [*ROOM_FOR_FOUR, *members(3, 3), *differing(status=FAILED)[1:2]],
            "pending: the scheduler says: boom; 3 members wait for a node, 3 are needed, and all of these have places",
            id="the scheduler fails for one member",
        ),
    ],
)
def test_answer_is_the_same_for_each_member(objects: Sequence[Object], headline: str) -> None:
    found = {each["metadata"]["name"]: each for each in objects}
    answers = [_document(*found.values(), pod=f"ml/{name}") for name in found if name.startswith("train")]
    assert answers[0]["headline"] == f"gang ml/train: {headline}"
    assert all(each == answers[0] for each in answers[1:])


def _document(*objects: Object, pod: str) -> Mapping[str, object]:
    asked = target(*objects, pod=pod)
    return gang_document(explain_gang(asked, SEATS, is_over=lambda: False))


def test_names_members_with_an_invalid_gang_size() -> None:
    asked = target(*ROOM_FOR_FOUR, *differing(size="some"))
    found = explain_gang(asked, SEATS)
    assert list(gang_text(found))[1] == "  ml/train-1: gang size is not a number"
    assert gang_document(found)["invalidMembers"] == {"ml/train-1": "gang size is not a number"}


def test_adds_the_recorded_failure_of_the_member_that_was_asked_for() -> None:
    call = recorded(0, error="timeout", outcome="failure")
    inputs = Inputs(CONFIGURATION, Attempts([call]), target(*ROOM_FOR_FOUR, *members(4)))
    found = answer_to(inputs, gang=True)
    assert found.lines[0].startswith("gang ml/train: can be placed")
    assert found.lines[1] == "  ml/train-0: Berth cannot decide (failure): timeout"
    assert found.document["asked"] == "ml/train-0: Berth cannot decide (failure): timeout"
