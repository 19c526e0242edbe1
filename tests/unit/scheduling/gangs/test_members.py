"""Members of a gang, and members of a committed gang, which are placed like other pods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.framework.plugin import Code
from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.preemption.victim_review import Proposal
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.gangs import member, members
from tests.builders.planned import CPU, NO_ROOM, ZONES, answers, being_bound, cluster, counts, gang_policy, places

POLICY = gang_policy()
KEY = GangKey("ml", "train")
WAITS = "gang waits for members"
TRAIN = members("train", 4, requests=CPU)


@pytest.mark.parametrize(
    "missing",
    [
        pytest.param(replace(TRAIN[3], terminating=True), id="one is being deleted"),
        pytest.param(
            member("train-3", "train", 4, requests=CPU, spec={"schedulingGates": [{"name": "quota"}]}),
            id="one is gated",
        ),
        pytest.param(member("train-3", "other", 4, requests=CPU), id="one names another gang"),
        pytest.param(member("train-3", "train", 4, requests=CPU, namespace="other"), id="one is in another namespace"),
        pytest.param(member("train-3", "train", "x", requests=CPU), id="one has an invalid size"),
        pytest.param(member("train-3", "train", 4, requests=CPU, label="other"), id="one is in two gangs"),
    ],
)
def test_counts_only_members_that_wait(missing: Pod) -> None:
    snapshot = cluster(9, pods=[*TRAIN[:3], missing])
    assert set(places(answers(POLICY, snapshot, TRAIN[:3])).values()) == {WAITS}


def test_counts_the_requesting_member_before_the_cache_has_it() -> None:
    snapshot = cluster(4, pods=TRAIN[:3])
    assert places(answers(POLICY, snapshot, TRAIN[3:])) == {"train-3": "n0"}


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        pytest.param({"size": 3}, "gang size differs between members", id="sizes"),
        pytest.param(
            {"size": 2, "topology_key": "zone"}, "gang topology key differs between members", id="topology keys"
        ),
        pytest.param(
            {"size": 2, "spec": {"schedulerName": "other"}}, "gang scheduler differs between members", id="schedulers"
        ),
    ],
)
def test_rejects_members_with_contradictory_settings(second: dict[str, Any], reason: str) -> None:
    pods = [member("a", "train", 2), member("b", "train", **second)]
    assert set(places(answers(POLICY, cluster(9, pods=pods), pods)).values()) == {reason}


@pytest.mark.parametrize("how", ["on a node", "committed"])
def test_members_of_a_committed_gang_are_placed_individually(how: str) -> None:
    bound = replace(TRAIN[0], node_name="n0" if how == "on a node" else "")
    snapshot = cluster(1, 1, pods=[bound, TRAIN[1]])
    opened = [OpenGang(KEY, 0, {bound.uid: "n0"}, is_committed=True)] if how == "committed" else []
    assert answers(POLICY, snapshot, TRAIN[1:2], opened)["train-1"].feasible == ["n0", "n1"]


COMMITTED_BEFORE = OpenGang(KEY, 0, {f"uid-before-{index}": "n0" for index in range(4)}, is_committed=True)


@pytest.mark.parametrize(
    ("pods", "wanted"),
    [
        pytest.param(TRAIN[:2], {WAITS}, id="members are missing"),
        pytest.param(TRAIN, {"n0", "n1"}, id="all members are there"),
        pytest.param(
            [replace(member("old", "train", 4, uid="uid-before-0"), terminating=True), *TRAIN[:2]],
            {WAITS},
            id="one of the earlier gang is being deleted",
        ),
    ],
)
def test_plans_a_recreated_gang_as_a_whole_despite_the_commit_of_the_earlier_gang(
    pods: list[Pod], wanted: set[str]
) -> None:
    """The earlier gang's item stays until the watcher has seen that none of its members is alive."""
    waiting = [pod for pod in pods if not pod.terminating]
    found = answers(POLICY, cluster(3, 1, pods=pods), waiting, [COMMITTED_BEFORE])
    assert set(places(found).values()) == wanted


def test_uncached_member_waits_if_only_an_earlier_gang_of_its_name_was_committed() -> None:
    answer = answers(POLICY, cluster(9, pods=[]), TRAIN[:1], [COMMITTED_BEFORE])
    assert places(answer) == {"train-0": WAITS}


def test_uncached_replacement_is_placed_individually_if_all_others_are_on_nodes() -> None:
    on_nodes = [replace(pod, node_name="n0") for pod in TRAIN[1:]]
    assert answers(POLICY, cluster(9, 9, pods=on_nodes), TRAIN[:1])["train-0"].feasible == ["n0", "n1"]


def test_uncached_member_of_a_commit_is_placed_individually() -> None:
    opened = [OpenGang(KEY, 0, {TRAIN[0].uid: "n0"}, is_committed=True)]
    assert answers(POLICY, cluster(9, 9, pods=[]), TRAIN[:1], opened)["train-0"].feasible == ["n0", "n1"]


def test_member_waiting_in_bind_does_not_prove_a_commit() -> None:
    """A member's open reservation and announcement are written before the member waits for the others."""
    snapshot = cluster(9, pods=TRAIN[:3]).assuming(being_bound(TRAIN[0]))
    opened = [OpenGang(KEY, 0, {TRAIN[0].uid: "n0"})]
    assert set(places(answers(POLICY, snapshot, TRAIN[1:3], opened)).values()) == {WAITS}


def test_member_of_a_committed_gang_is_placed_individually_while_all_are_being_bound() -> None:
    """The member's Binding failed, and the scheduler tries it again."""
    snapshot = cluster(4, 1, pods=TRAIN).assuming(being_bound(*TRAIN, node="n0"))
    opened = [OpenGang(KEY, 0, {pod.uid: "n0" for pod in TRAIN}, is_committed=True)]
    assert answers(POLICY, snapshot, TRAIN[:1], opened)["train-0"].feasible == ["n0", "n1"]


def test_terminating_member_of_an_earlier_gang_does_not_prove_a_commit() -> None:
    ending = replace(member("train-0", "train", 2, uid="uid-old"), node_name="n0", terminating=True)
    new = members("train", 2, requests=CPU)
    snapshot = cluster(1, pods=[ending, *new])
    assert set(places(answers(POLICY, snapshot, new)).values()) == {NO_ROOM}


def test_committed_members_without_bindings_still_occupy_their_room() -> None:
    committed = members("tune", 2, requests=CPU)
    snapshot = cluster(2, 4, pods=[*committed, *TRAIN])
    opened = [OpenGang(GangKey("ml", "tune"), 0, {pod.uid: "n0" for pod in committed}, is_committed=True)]
    assert counts(places(answers(POLICY, snapshot, TRAIN, opened))) == {"n1": 4}


IN_ZONES = members("train", 3, count=5, requests=CPU, topology_key="zone")
COMMITTED_IN_B = [OpenGang(KEY, 0, {IN_ZONES[0].uid: "b1"}, is_committed=True)]


@pytest.mark.parametrize(
    ("first", "opened"),
    [
        pytest.param(replace(IN_ZONES[0], node_name="b1"), [], id="a member is on a node"),
        pytest.param(IN_ZONES[0], COMMITTED_IN_B, id="a member is being bound"),
    ],
)
@pytest.mark.parametrize("decide", ["feasibility", "best"])
def test_member_of_a_committed_gang_gets_only_nodes_in_its_domain(
    first: Pod, opened: list[OpenGang], decide: str
) -> None:
    snapshot = Snapshot.of(ZONES, [first, IN_ZONES[1]])
    answer = getattr(POLICY, decide)(IN_ZONES[1], [*snapshot.nodes], snapshot, open_gangs=opened)
    assert answer.feasible == ["b1", "b2"][: 1 if decide == "best" else 2]
    elsewhere = {name for name, status in answer.rejected.items() if "another topology domain" in status.message}
    assert elsewhere == {"a1", "a2", "c1", "none"}
    assert {answer.rejected[name].code for name in elsewhere} == {Code.UNSCHEDULABLE_AND_UNRESOLVABLE}


def test_member_of_a_committed_gang_waits_while_the_domain_is_unknown() -> None:
    snapshot = Snapshot.of(ZONES, [replace(IN_ZONES[0], node_name="none"), IN_ZONES[1]])
    assert answers(POLICY, snapshot, IN_ZONES[1:2])["train-1"].feasible == []


def test_replacement_does_not_evict_outside_the_domain_of_its_gang() -> None:
    victims = {
        node: replace(member(f"victim-{node}", None, requests=CPU, priority=-1), node_name=node)
        for node in ("a1", "b2")
    }
    on_node = replace(IN_ZONES[0], node_name="b1")
    snapshot = Snapshot.of(ZONES, [*victims.values(), on_node, IN_ZONES[1]])
    proposals = {node: Proposal((victim.uid,), 0) for node, victim in victims.items()}
    found = POLICY.review_victims(IN_ZONES[1], proposals, snapshot)
    assert (set(found.victims), dict(found.rejected)) == ({"b2"}, {"a1": NodeRejection.GANG})


def test_replacement_in_a_committed_gang_may_preempt_like_other_pods() -> None:
    victim = replace(member("victim", None, requests=CPU, priority=-1), node_name="n0")
    bound = replace(TRAIN[1], node_name="n1")
    snapshot = cluster(1, 1, pods=[victim, bound, TRAIN[0]])
    assert POLICY.review_victims(TRAIN[0], {"n0": Proposal((victim.uid,), 0)}, snapshot).victims.keys() == {"n0"}
