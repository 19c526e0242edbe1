"""Counterfactuals of a gang: each change is judged with all members planned on all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from berth.scheduling.gangs.gang import GangError
from berth_cli.explain.answer import Question, answer_to
from berth_cli.explain.counterfactuals.candidates import Search, SearchEnd
from berth_cli.explain.counterfactuals.new_nodes import NewNodeOutcome, new_nodes
from berth_cli.explain.counterfactuals.search import search
from berth_cli.explain.rules import Rules
from berth_cli.explain.sources.inputs import Inputs
from berth_cli.explain.target import Target, read_target
from tests.builders.gangs import custom_group_object, member_object
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.planned import gang_configuration
from tests.builders.pods import pod_with
from tests.unit.cli.explain.cases import Object

CONFIGURATION = gang_configuration()
LABELLED = gang_configuration(profile="label-priority")
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
ALONE = "place the pod alone: remove its annotation berth.dev/gang"
SIZE = "berth.dev/gang-size"


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


# A node has 4 cpus, and a member asks for 2.
@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param(
            [node_with("a"), *members(3)],
            [
                "lower each member's request of cpu from 2 to 1333m",
                "lower the gang's size from 3 to 2",
                "add a node like a",
            ],
            id="no room for one member: one more node gives places to all",
        ),
        pytest.param(
            [node_with("a"), *members(7, 7)],
            [
                "lower each member's request of cpu from 2 to 571m",
                "lower the gang's size from 7 to 2",
                "add 3 nodes like a",
            ],
            id="no room for five: the fewest nodes",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), *members(2)],
            ["create 1 more member", "lower the gang's size from 3 to 2"],
            id="a member is missing",
        ),
        pytest.param(
            [node_with("a"), *members(2, 4)],
            [
                "lower the gang's size from 4 to 2",
                "create 2 more members; lower each member's request of cpu from 2 to 1",
                "create 2 more members; add a node like a",
            ],
            id="members are missing, and there is no room for them",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), *members(2), member(2, spec={"schedulingGates": [{"name": "g"}]})],
            ["remove the scheduling gates of ml/train-2", "lower the gang's size from 3 to 2"],
            id="a member is gated",
        ),
        pytest.param(
            [node_with("a"), node_with("b", taints=[TAINT]), *members(3)],
            [
                "remove the taint dedicated=ml:NoSchedule from node b",
                "let each member tolerate dedicated=ml:NoSchedule",
                "lower each member's request of cpu from 2 to 1333m",
                "lower the gang's size from 3 to 2",
                "add a node like a",
            ],
            id="a taint keeps the next member out",
        ),
        pytest.param(
            [
                node_with("a"),
                node_with("b"),
                pod_with("web", nodeName="b", requests={"cpu": "3"}),
                *members(3),
            ],
            [
                "lower each member's request of cpu from 2 to 1333m",
                "lower the gang's size from 3 to 2",
                "free 1 cpu on node b: end default/web (holds 3 cpu)",
                "add a node like a",
            ],
            id="a pod is in the way: members that are only planned are not ended",
        ),
        pytest.param(
            [node_with("a"), node_with("b"), member(0), member(1, cpu="5"), member(2)],
            [
                "lower each like member's request of cpu from 5 to 4",
                "lower the gang's size from 3 to 2",
            ],
            id="another member than the one that is asked about",
        ),
        pytest.param(
            [node_with("a", allocatable={"pods": "2", "cpu": "9", "memory": "1Gi"}), *members(3)],
            ["lower the gang's size from 3 to 2", "add a node like a"],
            id="larger than the cluster",
        ),
        pytest.param(
            [node_with("a"), *members(2, "two")],
            [f"set the annotation {SIZE} of every member to 2", ALONE],
            id="a size that is no number",
        ),
        pytest.param(
            [node_with("a"), *members(2, 0)],
            [f"set the annotation {SIZE} of every member to 2", ALONE],
            id="a size below one",
        ),
        pytest.param(
            [node_with("a"), member(0, 3), member(1, 2), member(2, 2, cpu="0")],
            [f"set the annotation {SIZE} of every member to 2", ALONE],
            id="sizes that differ",
        ),
        pytest.param(
            [node_with("a"), *members(2, 2, timeout="soon")],
            ["remove the annotation berth.dev/gang-timeout from every member", ALONE],
            id="a timeout that is no number",
        ),
        pytest.param(
            [node_with("a"), *members(2, 2, topology_key="a zone")],
            ["remove the annotation berth.dev/gang-topology-key from every member", ALONE],
            id="a topology key that is none",
        ),
        pytest.param(
            [node_with("a"), member(0, 2), member(1, 2, topology_key="zone")],
            ["remove the annotation berth.dev/gang-topology-key from every member", ALONE],
            id="topology keys that differ",
        ),
    ],
)
def test_finds_the_smallest_changes_that_place_the_gang(objects: Sequence[Object], wanted: Sequence[str]) -> None:
    assert texts(found(*objects)) == wanted


def by_label(number: int, **fields: Any) -> Object:
    return {"kind": "Pod", **member_object(f"train-{number}", None, label="train", requests={"cpu": "2"}, **fields)}


LABEL = "label scheduling.x-k8s.io/pod-group"


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param(
            [by_label(0), by_label(1)],
            [
                "let the PodGroup ml/train say that 2 members are placed together",
                f"place the pod alone: remove its {LABEL}",
            ],
            id="no PodGroup",
        ),
        pytest.param(
            [custom_group_object("train", "two"), by_label(0), by_label(1)],
            [
                "let the PodGroup ml/train say that 2 members are placed together",
                f"place the pod alone: remove its {LABEL}",
            ],
            id="a PodGroup that cannot be read",
        ),
        pytest.param(
            [custom_group_object("train", 4), *(by_label(number) for number in range(4))],
            [
                "lower each member's request of cpu from 2 to 1",
                "lower the gang's size from 4 to 2",
                "add a node like a",
            ],
            id="a PodGroup without room",
        ),
    ],
)
def test_changes_a_pod_group(objects: Sequence[Object], wanted: Sequence[str]) -> None:
    assert texts(found(node_with("a"), *objects)) == wanted


def test_a_pod_in_two_gangs_leaves_one() -> None:
    pods = [
        {"kind": "Pod", **member_object(f"train-{number}", "other", 2, label="train", requests={"cpu": "2"})}
        for number in (0, 1)
    ]
    assert texts(found(node_with("a"), custom_group_object("train", 2), *pods)) == [
        "remove the label scheduling.x-k8s.io/pod-group from each member",
        "remove the annotation berth.dev/gang from each member",
        "place the pod alone: remove its label scheduling.x-k8s.io/pod-group and its annotation berth.dev/gang",
    ]


def test_every_error_of_a_gang_has_an_answer() -> None:
    """The last answer to each is the pod alone; of a name that is none, and of two schedulers, it is the only one."""
    no_name = {"kind": "Pod", **member_object("train-0", "no name", 2)}
    elsewhere = member_object("train-1", "train", 2, spec={"schedulerName": "other"})
    two_schedulers = [{"kind": "Pod", **each} for each in (member_object("train-0", "train", 2), elsewhere)]
    for pods in ([no_name], two_schedulers):
        assert texts(found(node_with("a"), *pods)) == [ALONE]
    assert len(GangError) == 13


def test_changes_a_node_for_all_members_that_go_there() -> None:
    objects = [node_with("a"), node_with("b", {PRIORITY: "1"}), *members(3)]
    assert texts(found(*objects, configuration=LABELLED))[:1] == [f"add the label {PRIORITY}=1 to node a"]


def test_goes_on_from_the_state_that_is_closest() -> None:
    objects = [node_with(name) for name in ("a", "b")]
    wanted = f"add the label {PRIORITY}=1 to node a; add the label {PRIORITY}=1 to node b"
    assert wanted in texts(found(*objects, *members(3), configuration=LABELLED))


def test_ends_when_the_time_is_over() -> None:
    result = search(target(node_with("a"), *members(3)).case, Rules(CONFIGURATION), lambda: True)
    assert (result.found, result.end) == ([], SearchEnd.TIME)


@pytest.mark.parametrize(
    ("objects", "like", "outcome", "reason", "count"),
    [
        pytest.param([node_with("a"), *members(3)], "a", NewNodeOutcome.TAKES, "", 1, id="one node"),
        pytest.param([node_with("a"), *members(8, 8)], "a", NewNodeOutcome.TAKES, "", 3, id="several nodes"),
        pytest.param(
            [node_with("a", taints=[TAINT]), *members(3)],
            "a",
            NewNodeOutcome.REJECTED_BY_SCHEDULER,
            "node(s) had untolerated taint(s)",
            1,
            id="a taint",
        ),
        pytest.param(
            [node_with("a"), *members(3, cpu="5")], "a", NewNodeOutcome.TOO_SMALL, "Insufficient cpu", 1, id="too small"
        ),
        pytest.param(
            [node_with("a"), node_with("b"), *members(2)],
            "a",
            NewNodeOutcome.REJECTED_BY_BERTH,
            "gang waits for members",
            1,
            id="members are missing",
        ),
    ],
)
def test_judges_new_nodes_for_the_whole_gang(
    objects: Sequence[Object], like: str, outcome: NewNodeOutcome, reason: str, count: int
) -> None:
    case, rules = target(*objects).case, Rules(CONFIGURATION)
    rejected = rules.rejected(case.pod, list(case.snapshot.nodes), case.snapshot)
    first = new_nodes(case, rules, rejected, ()).kinds[0]
    assert (first.like, first.outcome, first.reason, first.count) == (like, outcome, reason, count)


@pytest.mark.parametrize(
    ("objects", "fits"),
    [
        pytest.param([node_with("a"), *members(3)], [], id="an autoscaler sees that the next member has no room"),
        pytest.param([node_with("a"), node_with("b"), *members(2)], ["a", "b"], id="it knows nothing of members"),
    ],
)
def test_names_the_nodes_that_an_autoscaler_counts_on(objects: Sequence[Object], fits: Sequence[str]) -> None:
    case, rules = target(*objects).case, Rules(CONFIGURATION)
    rejected = rules.rejected(case.pod, list(case.snapshot.nodes), case.snapshot)
    assert list(new_nodes(case, rules, rejected, ()).fits_for_scheduler) == fits


def test_gang_shows_the_changes() -> None:
    inputs = Inputs(CONFIGURATION, None, target(node_with("a"), node_with("b"), *members(2)))
    found = answer_to(Question("ml/train-0", gang=True), inputs)
    assert found.lines[-3:] == [
        "Each of these would place it; the rules were run on each:",
        "  - create 1 more member -> a, b",
        "  - lower the gang's size from 3 to 2 -> a, b",
    ]
    changes: Any = found.document["counterfactuals"]
    assert changes[0]["changes"] == [
        {"kind": "CreateMembers", "text": "create 1 more member", "node": None, "count": 1}
    ]
