"""Rivals are waiting pods that are tried first: a change that only makes room for a rival does not help the pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.explanation.counterfactuals.change import ChangeKind
from berth_cli.explanation.counterfactuals.search import Search, search
from berth_cli.explanation.explanation import Explanation, explain_pod
from berth_cli.explanation.gang import explain_gang
from berth_cli.explanation.pod_state import Verdict
from berth_cli.explanation.report import changes_text, headline, search_document
from berth_cli.explanation.rivals import beside_waiting
from tests.builders.gangs import member_object
from tests.builders.nodes import node_with
from tests.builders.planned import gang_configuration
from tests.builders.pods import pod_with
from tests.unit.cli.explanation.cases import FULL, Object, rules, target

NODE = node_with("a")
LAST = {"pool": "last"}
FULL_NODE = [NODE, pod_with("w", nodeName="a", priority=99, requests={"cpu": "4"})]
SEAT = "example.com/seat"
TOLERATES: dict[str, Any] = {"tolerations": [{"key": "k", "operator": "Exists"}]}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
GANGS = gang_configuration().model_dump(by_alias=True, exclude_unset=True)
CLAIM: dict[str, Any] = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}


def asks(name: str = "p", cpu: str = "3", reason: str = "Unschedulable", **fields: Any) -> Object:
    """Return a pod that a scheduler has tried. reason: of its condition; if empty, the pod was not tried."""
    pod = pod_with(name, requests={"cpu": cpu}, **fields)
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/1 nodes are available."}
    return {**pod, "status": {"conditions": [condition] if reason else []}}


def searched(*objects: Object, document: Mapping[str, Any] = FULL) -> Search:
    found = target(asks(), *objects, document=document)
    case = beside_waiting(found.case, found.case.pod, found.waiting, rules(document), lambda: False)
    return search(case, rules(document), lambda: False)


def explained(*objects: Object, pod: Object | None = None, document: Mapping[str, Any] = FULL) -> Explanation:
    asked = target(pod or asks(), *objects, document=document)
    return explain_pod(asked, rules(document), weight=1, now=0, is_over=lambda: False)


def texts(found: Search) -> tuple[list[str], str]:
    """Return the changes that add nodes, and the name of the pod that takes the room of the other changes."""
    places = ("; ".join(change.text for change in each.changes) for each in found.found)
    return [each for each in places if "like" in each], found.taken.partition(" ")[0].removeprefix(
        "default/"
    ).removeprefix("ml/")


def at(second: int) -> dict[str, Any]:
    return {"metadata": {"creationTimestamp": f"2026-01-01T00:00:0{second}Z"}}


ONE, TWO = "add a node like a", "add 2 nodes like a"


@pytest.mark.parametrize(
    ("rivals", "wanted"),
    [
        pytest.param([], ([ONE], ""), id="no other pod waits"),
        pytest.param([asks("big", priority=5)], ([TWO], "big"), id="it takes the new node"),
        pytest.param([asks("big", cpu="1", priority=5)], ([ONE], ""), id="there is room for both"),
        pytest.param([asks("big", cpu="9", priority=5)], ([ONE], ""), id="it does not fit there either"),
        pytest.param([asks("big", priority=0)], ([ONE], ""), id="its priority is the same, and its age"),
        pytest.param([asks("big", **at(1))], ([TWO], "big"), id="its priority is the same, and it is older"),
        pytest.param([asks("big", priority=-1, **at(1))], ([ONE], ""), id="it is older, and its priority is lower"),
        pytest.param([asks("big", priority=5, schedulingGates=[{"name": "g"}])], ([ONE], ""), id="it is gated"),
        pytest.param([asks("big", priority=5, reason="SchedulerError")], ([ONE], ""), id="its cycle fails"),
        pytest.param([asks("big", priority=5, **CLAIM)], ([ONE], ""), id="its claim is not bound"),
        pytest.param(
            [asks("big", priority=5, reason="", schedulerName="nobody")], ([ONE], ""), id="no scheduler has its name"
        ),
        pytest.param([asks("big", priority=5, reason="")], ([TWO], "big"), id="it is new"),
        pytest.param(
            [asks(name, cpu="2", priority=5) for name in ("r1", "r2")],
            (["add 3 nodes like a"], "r1"),
            id="one on each new node",
        ),
    ],
)
def test_change_is_proposed_only_if_the_pod_has_a_node_after_pods_of_a_higher_priority(
    rivals: list[Object], wanted: tuple[list[str], str]
) -> None:
    assert texts(searched(*FULL_NODE, *rivals)) == wanted


@pytest.mark.parametrize(
    ("others", "ends"),
    [
        pytest.param([], True, id="no other pod waits"),
        pytest.param([asks("big", priority=5, **TOLERATES)], False, id="a pod that is tried before"),
        pytest.param([asks("late", **at(9), **TOLERATES)], False, id="a younger pod, which is older than the new pod"),
        pytest.param([asks("late", reason="", **at(9), **TOLERATES)], False, id="a younger pod that was not tried"),
        pytest.param([asks("late", priority=-1, **TOLERATES)], True, id="a pod of a lower priority"),
        pytest.param([asks("late", cpu="9", **at(9), **TOLERATES)], True, id="a younger pod that fits nowhere"),
        pytest.param([asks("late", **at(9))], True, id="a younger pod that needs the other node only later"),
        pytest.param(
            [asks("late", reason="", schedulerName="nobody", **at(9), **TOLERATES)],
            True,
            id="no scheduler has its name",
        ),
    ],
)
def test_replacement_of_an_ended_pod_needs_room_beside_all_pods_that_are_tried_before_it(
    others: list[Object], ends: bool
) -> None:
    busy = pod_with("w", nodeName="a", requests={"cpu": "4"}, metadata={"ownerReferences": [OWNER]}, **TOLERATES)
    other = node_with("b", taints=[{"key": "k", "value": "", "effect": "NoSchedule"}])
    found = explained(NODE, other, busy, *others, pod=asks(**at(1))).search
    assert found is not None
    texts = [change.text for each in found.found for change in each.changes]
    assert any("end default/w" in text for text in texts) is ends


SEATS: dict[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [{"name": SEAT, "capacity": {"value": 3, "scope": "cluster"}}],
}
HELD = pod_with("h", nodeName="a", requests={SEAT: "2"}, metadata={"ownerReferences": [OWNER]}, priority=-1)
KEPT = f"1 of 3 {SEAT} left in the cluster, kept for waiting pods of a higher priority"


def seats(name: str = "p", count: str = "1", reason: str = "Unschedulable", **fields: Any) -> Object:
    pod = asks(name, reason=reason, **fields)
    pod["spec"]["containers"][0]["resources"] = {"requests": {SEAT: count}}
    return pod


@pytest.mark.parametrize("reason", ["", "Unschedulable"], ids=["not tried", "tried when the pool had enough"])
@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        pytest.param([{"count": "2", "priority": 5}], f": 0 of 1 nodes fit: {KEPT}", id="higher priority"),
        pytest.param([{"count": "2", "priority": -1}], " fit", id="lower priority"),
        pytest.param([{"count": "2", **at(1)}], " fit", id="the same priority"),
        pytest.param([{"count": "2", "priority": 5, "nodeSelector": LAST}], " fit", id="it waits for a node"),
        pytest.param([{"priority": 5}], "default/o0 of higher priority would take it first", id="it takes the unit"),
        pytest.param([{"priority": 5}, {"priority": 5}], KEPT, id="two: one takes the unit, one waits for another"),
    ],
)
def test_units_are_kept_for_pods_of_a_higher_priority_that_wait_for_a_pool_at_their_turn(
    others: list[dict[str, Any]], wanted: str, reason: str
) -> None:
    rivals = (seats(f"o{at}", reason=reason, **fields) for at, fields in enumerate(others))
    found = explained(NODE, HELD, *rivals, pod=seats(), document=SEATS)
    assert wanted in headline(found)


def test_proposals_leave_units_for_an_untried_pod_of_a_higher_priority() -> None:
    """2 of 3 units are used. The pod needs 1, and the other pod needs 3."""
    found = explained(NODE, HELD, seats("o", "3", "", priority=5), pod=seats(), document=SEATS).search
    assert found is not None
    assert [each.changes[0].text for each in found.found] == [f"raise the capacity of {SEAT}@cluster from 3 to 6"]


def test_gang_waits_for_units_that_are_kept_for_an_untried_pod() -> None:
    document = {**SEATS, "gangs": {"enabled": True}}
    gang = [{"kind": "Pod", **member_object(f"m{each}", "g", 2, requests={SEAT: "1"})} for each in range(2)]
    holder = pod_with("h", nodeName="a", requests={SEAT: "1"})
    other = seats("o", "3", "", priority=5, schedulerName="berth-scheduler")
    asked = target(gang[0], NODE, holder, gang[1], other, document=document)
    found = explain_gang(asked, BerthConfiguration.model_validate(document), is_over=lambda: False)
    assert found.verdict is Verdict.PENDING


def test_names_the_pod_that_takes_the_room() -> None:
    found = searched(*FULL_NODE, asks("big", priority=5))
    line = "Other changes make room, but default/big of higher priority would take it first."
    assert list(changes_text(found))[-1] == search_document(found)["searchNote"] == line


def test_pod_that_fits_waits_for_a_pod_of_a_higher_priority() -> None:
    found = explain_pod(target(asks(), NODE, asks("big", priority=5)), rules(), weight=1, now=0, is_over=lambda: False)
    assert headline(found) == (
        "default/p: pending: 1 of 1 nodes fit, but default/big of higher priority would take it first"
    )
    assert found.verdict is Verdict.PENDING
    assert found.search is not None
    assert texts(found.search) == ([ONE], "")


@pytest.mark.parametrize(
    ("own", "other", "takes"), [(2, 1, True), (1, 1, False), (1, 2, False)], ids=["older", "as old", "younger"]
)
def test_pod_that_fits_waits_for_an_older_pod_of_its_priority(own: int, other: int, takes: bool) -> None:
    asked = target(asks(**at(own)), NODE, asks("old", **at(other)))
    line = headline(explain_pod(asked, rules(), weight=1, now=0, is_over=lambda: False))
    assert (
        line.endswith("1 of 1 nodes fit, but default/old of equal priority is older and would take it first") is takes
    )


def test_pod_is_placed_on_the_node_that_pods_of_higher_priority_leave_free() -> None:
    asked = target(asks(), NODE, node_with("b"), asks("big", priority=5))
    found = explain_pod(asked, rules(), weight=1, now=0, is_over=lambda: False)
    assert headline(found) == "default/p: can be placed, on b: 2 of 2 nodes fit"


def test_oldest_pod_takes_the_room_whatever_its_name() -> None:
    taker = asks("z", **at(1)), asks("a", **at(2))
    found = explain_pod(target(asks(), NODE, *taker), rules(), weight=1, now=0, is_over=lambda: False)
    assert found.taken.startswith("default/z of equal priority")


def test_names_only_nodes_that_remain_after_pods_of_a_higher_priority() -> None:
    """A request of 2 cpu fits on both nodes; the other pod takes the first node."""
    busy = [pod_with(f"w{name}", nodeName=name, priority=9, requests={"cpu": "2"}) for name in "ab"]
    found = searched(NODE, node_with("b"), *busy, asks("big", cpu="2", priority=5)).found
    lowered = [each.fits for each in found if each.changes[0].kind is ChangeKind.LOWER_REQUEST]
    assert lowered == [["b"]]


def test_pod_too_large_for_every_node_is_not_blocked_by_rivals() -> None:
    wanted = target(asks(cpu="9"), NODE, node_with("b", allocatable={"cpu": "1"}), asks("big", cpu="4", priority=5))
    found = explain_pod(wanted, rules(), weight=1, now=0, is_over=lambda: False).search
    assert found is not None
    assert not any("Other changes" in line for line in changes_text(found))


def test_proposes_amounts_that_leave_room_for_pods_that_are_tried_first() -> None:
    """The pod would fit without the older pod, so no node lacks anything for it."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    web = pod_with("web", nodeName="a", requests={"cpu": "2500m"}, metadata={"ownerReferences": [owner]})
    pod, older = asks(cpu="1", nodeSelector=LAST, **at(2)), asks("older", cpu="1", nodeSelector=LAST, **at(1))
    found = target(pod, node_with("a", LAST), node_with("b"), web, older)
    shown = explain_pod(found, rules(), weight=1, now=0, is_over=lambda: False).search
    assert shown is not None
    assert [each.changes[0].text for each in shown.found] == [
        "add the label pool=last to node b",
        "lower the pod's request of cpu from 1 to 500m",
        "free 500m cpu on node a: end default/web (holds 2500m cpu)",
        "remove pool=last from the pod's nodeSelector",
        "add a node like a",
    ]


def test_proposes_gang_requests_that_fit_beside_pods_that_are_tried_first() -> None:
    gang = [member_object(f"m{each}", "g", 2, requests={"cpu": "2"}) for each in range(2)]
    first = asks("first", cpu="1", priority=5)
    found = target({"kind": "Pod", **gang[0]}, NODE, {"kind": "Pod", **gang[1]}, first, document=GANGS)
    case = beside_waiting(found.case, found.case.pod, found.waiting, rules(GANGS), lambda: False)
    shown = search(case, rules(GANGS), lambda: False).found
    assert shown[0].changes[0].text == "lower each member's request of cpu from 2 to 1500m"


def test_gang_of_a_higher_priority_takes_the_room_as_a_whole() -> None:
    fields: dict[str, Any] = {"priority": 5, "requests": {"cpu": "2"}, "spec": {"schedulerName": "default-scheduler"}}
    gang = [{"kind": "Pod", **member_object(f"m{number}", "train", 2, **fields)} for number in range(2)]
    assert texts(searched(*FULL_NODE, *gang, document=GANGS)) == ([TWO], "m0")
