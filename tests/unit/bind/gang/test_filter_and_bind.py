"""filter and bind count the members of a gang by one rule: bind binds the members that filter passes, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from berth.ledger.gangs.table import shown
from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from tests.simulation.gangs.binds import CONFIGURATION, ZONE, GangWorld, Member, gang_of

POLICY = CONFIGURATION.model_copy(update={"profile": "managed-resources"}).policy()
GANG = gang_of(4, minimum=3)
LEADER, *WORKERS = [replace(GANG[0], priority=SYSTEM_CRITICAL_PRIORITY), *GANG[1:]]
"""The leader is exempt, so bind does not wait for the workers."""

IN_ONE_ZONE = [replace(each, topology_key=ZONE) for each in (LEADER, *WORKERS)]
ZONES = {LEADER.node: "a"} | {worker.node: "b" for worker in WORKERS}


def filtered(world: GangWorld, asked: list[Member]) -> list[Member]:
    """Return the members that filter passes, each with its node."""
    snapshot, pods = world.publish()
    opened = [each for item in world.gangs.gangs() if (each := shown(item, world.wall())) is not None]
    found = []
    for member in asked:
        answer = POLICY.feasibility(pods[f"ml/{member.name}"], [*snapshot.nodes], snapshot, open_gangs=opened)
        if answer.feasible:
            found.append(replace(member, node=answer.feasible[0]))
    return found


def bound(world: GangWorld, sent: list[Member]) -> set[str]:
    """Try bind once for each of these members, and return the names of all members that become bound."""
    before = world.bound()
    for member in sent:
        world.schedule(member, tries=1)
    world.world.run(world.world.now + 10.0)
    return world.bound() - before


def leader_on_a_node(*workers: Member, leader: Member = LEADER, **fields: object) -> GangWorld:
    world = GangWorld([leader, *workers], **fields)  # type: ignore[arg-type]
    assert bound(world, [leader]) == {leader.name}
    return world


def replaced(world: GangWorld, member: Member) -> GangWorld:
    """Bind the whole gang, lose the table with its commit, and create a member again."""
    bound(world, list(world.members.values()))
    world.lose_table()
    world.replace(member)
    return world


def without_one_in_barrier(change: Callable[[GangWorld], None]) -> GangWorld:
    """Return a world in which three of four members wait in bind, after `change` was applied to it."""
    members = gang_of(4)
    world = GangWorld(members)
    for member in members[:3]:
        world.schedule(member, tries=1)
    world.world.run(1.0)
    change(world)
    return world


def of_edited_size() -> GangWorld:
    members = gang_of(2)
    world = replaced(GangWorld([replace(each, minimum=2) for each in members]), replace(members[1], minimum=2))
    world.pods.change("train-0", annotations={"berth.dev/gang": "train", "berth.dev/gang-size": "x"})
    return world


@dataclass(frozen=True, slots=True)
class Case:
    """asked: the members that the scheduler tries. wanted: the members that are bound."""

    world: Callable[[], GangWorld]
    asked: list[str]
    wanted: set[str]


WORKER_NAMES = [worker.name for worker in WORKERS]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case(lambda: GangWorld([LEADER, *WORKERS[:2]]), WORKER_NAMES[:2], set()), id="an exempt pod that waits"
        ),
        pytest.param(
            Case(lambda: leader_on_a_node(*WORKERS[:2]), WORKER_NAMES[:2], set()), id="an exempt pod on a node"
        ),
        pytest.param(
            Case(lambda: leader_on_a_node(*WORKERS), WORKER_NAMES, set(WORKER_NAMES)),
            id="an exempt pod on a node, and all members",
        ),
        pytest.param(
            Case(
                lambda: leader_on_a_node(*IN_ONE_ZONE[1:], leader=IN_ONE_ZONE[0], zones=ZONES),
                WORKER_NAMES,
                set(WORKER_NAMES),
            ),
            id="an exempt pod in another zone",
        ),
        pytest.param(
            Case(lambda: replaced(GangWorld(IN_ONE_ZONE, zones=ZONES), IN_ONE_ZONE[3]), WORKER_NAMES[2:], {"train-3"}),
            id="a replacement beside an exempt pod in another zone",
        ),
        pytest.param(
            Case(of_edited_size, ["train-1"], {"train-1"}), id="a replacement after the size of the other was edited"
        ),
        pytest.param(
            Case(lambda: without_one_in_barrier(lambda world: world.end(world.members["train-0"])), ["train-3"], set()),
            id="a member deleted while it waits in bind",
        ),
        pytest.param(
            Case(
                lambda: without_one_in_barrier(lambda world: world.pods.change("train-0", deleting=True)),
                ["train-3"],
                set(),
            ),
            id="a member that is being deleted while it waits in bind",
        ),
        pytest.param(
            Case(lambda: without_one_in_barrier(lambda _: None), ["train-3"], {f"train-{n}" for n in range(4)}),
            id="all members in bind",
        ),
    ],
)
class TestOneRule:
    def test_bind_binds_the_pods_that_filter_passes(self, case: Case) -> None:
        world = case.world()
        passing = filtered(world, [world.members[name] for name in case.asked])
        assert {member.name for member in passing} == case.wanted.intersection(case.asked)
        assert bound(world, passing) == case.wanted

    def test_bind_does_not_bind_pods_that_filter_rejects(self, case: Case) -> None:
        """The scheduler can still send these pods to bind, because filter may have passed them on stale data."""
        world = case.world()
        world.publish()
        assert bound(world, [world.members[name] for name in case.asked]) == case.wanted


def test_filter_and_bind_prefer_the_gang_with_the_highest_member_priority() -> None:
    train = [replace(each, priority=10 if each.name == "train-2" else 0) for each in gang_of(3)]
    other = gang_of(3, name="other", priority=5)
    world = GangWorld([*train, *other], licences=1)
    assert {member.gang for member in filtered(world, [*train, *other])} == {"train"}
    for number, member in enumerate(train):
        world.schedule(member, after=0.2 * number, tries=1)
    for member in other:
        # As if filter had passed these members on stale data.
        world.schedule(member, after=0.1, tries=1)
    world.world.run(10.0)
    assert (len(world.bound("train")), len(world.bound("other"))) == (3, 0)


def test_bind_ignores_the_priority_of_a_member_that_filter_rejects() -> None:
    rejected = replace(gang_of(2)[1], priority=10, minimum=0)
    world = GangWorld([replace(gang_of(1)[0], minimum=2), rejected])
    world.publish()
    world.schedule(world.members["train-0"], tries=1)
    world.world.run(1.0)
    claim = world.gangs.domain().open
    assert claim is not None
    assert claim.priority == 0
