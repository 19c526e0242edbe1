"""Planning of all gangs in several calls: a call keeps its progress, and the time of other gangs does not count."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from berth.scheduling.evaluation.time_limit import RETRY_SECONDS, DeadlineExceeded, TimeLimit
from berth.scheduling.feasibility import Exemption, Feasibility
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, Status, unschedulable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.gangs.planner import SLOW_ROUND_SECONDS
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.gangs import ENABLED, member_object, members
from tests.builders.planned import NO_ROOM, cluster, places, room_for

LIMIT = 1.0
UNFINISHED = "gang waits: to plan all gangs takes longer than this call"
TOO_COSTLY = "gang takes too long to plan"
FULL = unschedulable("Cost", "the node is full")
TRAIN = members("train", 2, created="2026-01-02T00:00:00Z")


class World:
    """A clock that only planning advances. A pod's label sets how long its shape takes on a cluster of two nodes."""

    def __init__(self) -> None:
        self.now, self.wall = 0.0, 1000.0
        self.judged: list[str] = []
        profile = Profile("test", (Cost(self),), ())
        limit = TimeLimit(LIMIT, lambda: self.now, lambda: self.wall)
        self.policy = Policy(profile, Exemption(), gangs=ENABLED, time_limit=limit)

    def ask(self, pod: Pod, snapshot: Snapshot, seconds_left: float = LIMIT) -> Feasibility:
        return self.policy.feasibility(pod, [*snapshot.nodes], snapshot, seconds_left)

    def answer(self, pod: Pod, snapshot: Snapshot, seconds_left: float = LIMIT) -> str:
        """Return the planned node, or the reason why there is none."""
        try:
            return places({"": self.ask(pod, snapshot, seconds_left)})[""]
        except DeadlineExceeded as error:
            return str(error)

    def answers(self, pod: Pod, snapshots: Sequence[Snapshot]) -> list[str]:
        return [self.answer(pod, snapshot) for snapshot in snapshots]


class Cost(FilterPlugin[Pod]):
    name = "Cost"

    def __init__(self, world: World) -> None:
        self.world = world

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        self.world.judged.append(f"{state.name} on {node.name}")
        self.world.now += float(state.labels.get("cost", "0")) / 2
        return FULL if "full" in node.labels else SUCCESS


def others(*costs: float) -> list[Pod]:
    """Return gangs of one pod each, older than TRAIN, each with a shape of its own."""
    found = []
    for number, cost in enumerate(costs):
        manifest = member_object(f"other-{number}", f"other-{number}", 1)
        manifest["metadata"]["labels"] = {"cost": str(cost), "shape": str(number)}
        pod = read_pod(manifest)
        assert isinstance(pod, Pod)
        found.append(pod)
    return found


def test_next_call_continues_planning_where_the_last_one_ended() -> None:
    world, pods = World(), others(0.45, 0.45, 0.45, 0.45)
    snapshot = cluster(9, 9, pods=[*pods, *TRAIN])
    found = world.answers(TRAIN[0], [snapshot] * 4)
    assert found[0] == UNFINISHED
    assert found[-1] in ("n0", "n1")
    first = [each for each in world.judged if each.startswith("other-0")]
    assert len(first) == len(set(first))


def test_planning_other_gangs_does_not_count_against_the_requested_gang() -> None:
    world, pods = World(), others(*[0.3] * 12)
    snapshot = cluster(9, 9, pods=[*pods, *TRAIN])
    found = world.answers(TRAIN[0], [snapshot] * 8)
    assert TOO_COSTLY not in found
    assert found[-1] in ("n0", "n1")
    assert {world.answer(pod, snapshot) for pod in pods} <= {"n0", "n1"}


def test_gang_that_exceeds_the_limit_alone_is_skipped_for_a_while() -> None:
    world, [costly] = World(), others(1.5)
    snapshot = cluster(9, 9, pods=[costly, *TRAIN])
    assert world.answers(TRAIN[0], [snapshot] * 2)[-1] in ("n0", "n1")
    assert world.answer(costly, snapshot) == TOO_COSTLY
    assert world.ask(costly, snapshot).too_costly
    world.wall += RETRY_SECONDS
    assert world.answer(costly, cluster(9, 9, pods=[costly, *TRAIN])) != TOO_COSTLY


def test_skipped_gang_does_not_delay_others_on_the_next_snapshot() -> None:
    world, [costly] = World(), others(1.5)
    pods = [costly, *TRAIN]
    world.answers(TRAIN[0], [cluster(9, 9, pods=pods)] * 2)
    world.wall += SLOW_ROUND_SECONDS
    before = world.now
    assert world.answer(TRAIN[0], cluster(9, 9, pods=pods)) in ("n0", "n1")
    assert world.now == before


class TestStateThatChangesMeanwhile:
    def test_planning_round_over_several_calls_finishes(self) -> None:
        world, pods = World(), others(*[0.45] * 6)
        world.answer(TRAIN[0], cluster(9, 9, pods=TRAIN))
        snapshots = [cluster(9, 9, pods=[*pods, *TRAIN])]
        for number in range(6):
            added = Changes(nodes=(room_for(f"joined-{number}", 1),))
            snapshots.append(snapshots[-1].with_changes(added))
        found = world.answers(TRAIN[0], snapshots)
        assert found[0] == UNFINISHED
        assert found[-1] in ("n0", "n1")

    def test_gang_that_arrives_later_waits_for_the_next_round(self) -> None:
        world, pods = World(), others(*[0.45] * 3)
        snapshot = cluster(9, 9, pods=pods)
        world.answers(pods[0], [snapshot] * 3)
        later = snapshot.with_changes(Changes(pods=TRAIN))
        assert world.answer(TRAIN[0], later) == UNFINISHED
        world.wall += SLOW_ROUND_SECONDS
        assert UNFINISHED not in world.answers(TRAIN[0], [later] * 3)[-1:]

    @pytest.mark.parametrize(
        ("seconds_left", "wanted"),
        [
            pytest.param(LIMIT, "n0", id="the round takes several calls: it counts"),
            pytest.param(0.4 * LIMIT, NO_ROOM, id="one call was late: the state counts"),
        ],
    )
    def test_round_applies_to_later_snapshots_only_if_it_takes_several_calls(
        self, seconds_left: float, wanted: str
    ) -> None:
        world, pods = World(), others(0.45, 0.45, 0.45)
        snapshot = cluster(9, 9, pods=[*pods, *TRAIN])
        assert world.answer(TRAIN[0], snapshot, seconds_left) == UNFINISHED
        full = tuple(room_for(name, 9, {"full": ""}) for name in snapshot.nodes)
        changed = snapshot.with_changes(Changes(nodes=full))
        assert world.answers(TRAIN[0], [changed] * 3)[-1] == wanted
