"""Decisions of filter for gang members: a place for each, or one constant reason for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.framework.plugin import Code
from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.preemption.victim_review import Proposal
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.gangs import member, members, native_group_object, pod_group
from tests.builders.planned import (
    CPU,
    NO_ROOM,
    ZONES,
    answers,
    being_bound,
    cluster,
    counts,
    gang_policy,
    places,
    room_for,
)

POLICY = gang_policy()
KEY = GangKey("ml", "train")
WAITS = "gang waits for members"
TRAIN = members("train", 4, requests=CPU)


def test_gang_waits_while_members_are_missing() -> None:
    snapshot = cluster(9, pods=TRAIN[:3])
    assert set(places(answers(POLICY, snapshot, TRAIN[:3])).values()) == {WAITS}


def test_rejects_gang_larger_than_the_cluster() -> None:
    pods = members("train", 101)
    assert places(answers(POLICY, cluster(9, pods=pods), pods[:1])) == {"train-0": "gang is larger than the cluster"}


def test_rejects_members_of_a_deleted_pod_group() -> None:
    pods = [member(f"train-{index}", None, group="train", requests=CPU) for index in range(2)]
    group = pod_group(native_group_object(minimum=2))
    snapshot = cluster(2, pods=pods, pod_groups=[group])
    assert set(places(answers(POLICY, snapshot, pods)).values()) == {"n0"}
    deleted = snapshot.with_changes(Changes(pod_groups={}))
    assert set(places(answers(POLICY, deleted, pods)).values()) == {"gang has no PodGroup"}


@pytest.mark.parametrize("room", [3, 4], ids=["rejected", "placed"])
def test_rejected_nodes_are_unresolvable_even_with_as_plugins_say(room: int) -> None:
    """For nodes in FailedNodes, kube-scheduler would retry the pod (fact 15), or evict pods for a part of a gang."""
    policy = gang_policy(unresolvable="as-plugins-say")
    for answer in answers(policy, cluster(room, 0, pods=TRAIN), TRAIN).values():
        assert not answer.failed
        assert {status.code for status in answer.rejected.values()} == {Code.UNSCHEDULABLE_AND_UNRESOLVABLE}


def test_every_requested_name_appears_exactly_once() -> None:
    snapshot = cluster(2, 2, 9, pods=TRAIN)
    for answer in answers(POLICY, snapshot, TRAIN, names=["n0", "n1", "n2", "joined"]).values():
        assert sorted([*answer.feasible, *answer.rejected]) == ["joined", "n0", "n1", "n2"]


def test_filter_onlyone_keeps_only_the_planned_node() -> None:
    snapshot = cluster(2, 2, 9, pods=TRAIN)
    for pod in TRAIN:
        answer = POLICY.best(pod, [*snapshot.nodes], snapshot)
        assert answer.feasible == POLICY.feasibility(pod, [*snapshot.nodes], snapshot).feasible[:1]


@pytest.mark.parametrize(
    ("priority", "is_open", "is_first"),
    [
        pytest.param(None, False, False, id="the older one"),
        pytest.param(7, False, True, id="the one of higher priority"),
        # The members of the open gang already hold cpu in the scheduler (G10).
        pytest.param(None, True, True, id="the open one"),
    ],
)
def test_open_gang_then_higher_priority_is_planned_first(priority: int | None, is_open: bool, is_first: bool) -> None:
    """`is_first`: whether the later gang is planned first."""
    later = members("tune", 4, requests=CPU, created="2026-01-02T00:00:00Z", priority=priority)
    snapshot = cluster(3, 3, pods=[*TRAIN, *later])
    opened = [OpenGang(GangKey("ml", "tune"), 0, {later[0].uid: "n1"})] if is_open else []
    first, second = (later, TRAIN) if is_first else (TRAIN, later)
    assert NO_ROOM not in places(answers(POLICY, snapshot, first, opened)).values()
    assert set(places(answers(POLICY, snapshot, second, opened)).values()) == {NO_ROOM}


def test_gang_that_does_not_fit_leaves_its_room_to_others() -> None:
    large = members("large", 9, requests=CPU, created="2025-01-01T00:00:00Z")
    snapshot = cluster(4, pods=[*large, *TRAIN])
    assert set(places(answers(POLICY, snapshot, large)).values()) == {NO_ROOM}
    assert counts(places(answers(POLICY, snapshot, TRAIN))) == {"n0": 4}


def test_incomplete_gang_leaves_its_room_to_others() -> None:
    few = members("few", 9, count=8, requests=CPU, created="2025-01-01T00:00:00Z")
    snapshot = cluster(4, pods=[*few, *TRAIN])
    assert counts(places(answers(POLICY, snapshot, TRAIN))) == {"n0": 4}


def test_members_waiting_in_bind_keep_their_nodes() -> None:
    snapshot = cluster(4, 4, pods=TRAIN)
    opened = [OpenGang(KEY, 0, {TRAIN[0].uid: "n1", TRAIN[2].uid: "n1"})]
    found = places(answers(POLICY, snapshot, TRAIN, opened))
    assert (found["train-0"], found["train-2"]) == ("n1", "n1")


def test_plans_again_if_nodes_of_waiting_members_are_gone_or_full() -> None:
    snapshot = cluster(4, 0, pods=TRAIN)
    opened = [OpenGang(KEY, 0, {TRAIN[0].uid: "n1", TRAIN[1].uid: "gone"})]
    assert counts(places(answers(POLICY, snapshot, TRAIN, opened))) == {"n0": 4}


def test_member_that_has_changed_is_planned_by_its_new_requests() -> None:
    snapshot = cluster(4, pods=TRAIN)
    assert counts(places(answers(POLICY, snapshot, TRAIN))) == {"n0": 4}
    larger = member(TRAIN[0].name, "train", 4, requests={"cpu": "2"})
    assert larger.uid == TRAIN[0].uid
    changed = snapshot.with_changes(Changes(pods=[larger]))
    assert counts(places(answers(POLICY, changed, [larger, *TRAIN[1:]]))) == {NO_ROOM: 4}


def test_members_keep_places_reserved_by_an_interrupted_bind() -> None:
    """The bind process was killed, or its table did not answer. The reservations do not block their own gang."""
    snapshot = cluster(1, 1, 1, 1, pods=TRAIN).assuming(being_bound(*TRAIN))
    assert counts(places(answers(POLICY, snapshot, TRAIN))) == {"n0": 1, "n1": 1, "n2": 1, "n3": 1}


def test_last_member_is_placed_in_the_domain_of_members_waiting_in_bind() -> None:
    pods = members("train", 3, requests=CPU, topology_key="zone")
    snapshot = Snapshot.of(ZONES, pods).assuming(being_bound(*pods[:2], node="b1"))
    opened = [OpenGang(KEY, 0, {pod.uid: "b1" for pod in pods[:2]})]
    assert set(answers(POLICY, snapshot, pods[2:], opened)["train-2"].feasible) == {"b2"}


@pytest.mark.parametrize(("room", "wanted"), [(4, {"n0": 4, NO_ROOM: 2}), (5, {"n0": 5, NO_ROOM: 1}), (6, {"n0": 6})])
def test_members_beyond_the_minimum_get_the_remaining_room(room: int, wanted: dict[str, int]) -> None:
    pods = members("train", 4, count=6, requests=CPU)
    assert counts(places(answers(POLICY, cluster(room, pods=pods), pods))) == wanted


def test_members_beyond_the_minimum_do_not_take_room_from_another_gang() -> None:
    pods = members("train", 4, count=6, requests=CPU)
    later = members("tune", 4, requests=CPU, created="2026-01-02T00:00:00Z")
    snapshot = cluster(8, pods=[*pods, *later])
    assert counts(places(answers(POLICY, snapshot, later))) == {"n0": 4}


def test_node_missing_from_the_request_is_replaced_by_another_with_room() -> None:
    snapshot = cluster(*[4] * 3, pods=TRAIN)
    found = places(answers(POLICY, snapshot, TRAIN[:1], names=["n2"]))
    assert found == {"train-0": "n2"}


def test_identical_members_may_exchange_places() -> None:
    snapshot = cluster(1, 1, 1, 1, pods=TRAIN)
    place = places(answers(POLICY, snapshot, TRAIN))["train-0"]
    others = sorted({f"n{index}" for index in range(4)} - {place})
    assert sorted(answers(POLICY, snapshot, TRAIN[:1], names=others)["train-0"].feasible) == others


def test_one_plan_serves_all_calls_on_the_same_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    from berth.scheduling.gangs.planning import GangPlanning

    made: list[str] = []
    plan = GangPlanning.plan

    def counted(self: GangPlanning, members: Any, room: Any) -> Any:
        made.append(members.key.name)
        return plan(self, members, room)

    monkeypatch.setattr(GangPlanning, "plan", counted)
    others = members("tune", 2, requests=CPU)
    snapshot = cluster(9, pods=[*TRAIN, *others])
    policy = gang_policy()
    answers(policy, snapshot, [*TRAIN, *others])
    assert sorted(made) == ["train", "tune"]
    answers(policy, snapshot.with_changes(Changes(nodes=(room_for("n9", 1),))), TRAIN)
    assert sorted(made) == ["train", "train", "tune", "tune"]


def test_gang_does_not_evict_for_only_some_of_its_members() -> None:
    victim = replace(member("victim", None, requests=CPU, priority=-1), node_name="n0")
    snapshot = cluster(1, pods=[victim, *TRAIN])
    proposals = {"n0": Proposal((victim.uid,), 0)}
    found = POLICY.review_victims(TRAIN[0], proposals, snapshot)
    assert (found.victims, found.rejected) == ({}, {"n0": NodeRejection.GANG})


def test_exempt_pods_do_not_belong_to_a_gang() -> None:
    pods = [member("agent", "train", 4, requests=CPU, namespace="kube-system")]
    assert answers(POLICY, cluster(0, 0, pods=pods), pods)["agent"].feasible == ["n0", "n1"]


def test_gangs_are_ignored_unless_enabled() -> None:
    policy = gang_policy(gangs={"enabled": False})
    assert answers(policy, cluster(0, pods=TRAIN[:1]), TRAIN[:1])["train-0"].feasible == ["n0"]


def test_plans_again_on_the_same_snapshot_if_another_gang_is_open() -> None:
    policy, later = gang_policy(), members("tune", 4, requests=CPU, created="2026-01-02T00:00:00Z")
    snapshot = cluster(4, pods=[*TRAIN, *later])
    assert counts(places(answers(policy, snapshot, TRAIN))) == {"n0": 4}
    opened = [OpenGang(GangKey("ml", "tune"), 0, {})]
    assert counts(places(answers(policy, snapshot, later, opened))) == {"n0": 4}
