"""When a member of a gang is announced: while its gang is open, and before its Binding."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.bind.gang.barrier import GangBarrier
from berth.bind.gang.member import GangMember, GangOfPod, GangPlace
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.pods import Binding, Created
from berth.scheduling.gangs.gang import Gang, GangKey
from berth.scheduling.objects import Pod
from tests.fakes.binding_world import ANTI_AFFINITY, World

GANG = GangOfPod(Gang(GangKey("default", "train"), 2, "", 60))
WAITS = BindResult(BindOutcome.GANG_WAITS, "another gang is open")

Wait = Callable[[GangMember], GangPlace | BindResult | None]


class Barrier(GangBarrier):
    """Treats every pod as a member of the gang."""

    def __init__(self, wait: Wait) -> None:
        self._wait = wait

    def gang_of(self, pod: Pod, node: str, deadline: Deadline) -> GangOfPod:
        return GANG

    def wait(self, member: GangMember) -> GangPlace | BindResult | None:
        return self._wait(member)


def placed(member: GangMember) -> GangPlace | BindResult:
    return member.announce() or GangPlace(None)


def joins_committed_gang(member: GangMember) -> None:
    return None


def test_member_waiting_for_another_gang_does_not_block_other_pods() -> None:
    world, others = World(), list[BindResult]()

    def queued(member: GangMember) -> BindResult:
        others.append(world.bind("a", gangs=Barrier(placed)))
        return WAITS

    assert world.bind("b", gangs=Barrier(queued)) == WAITS
    assert [each.outcome for each in others] == [BindOutcome.BOUND]


@pytest.mark.parametrize("wait", [placed, joins_committed_gang])
def test_member_is_announced_once_before_its_binding(wait: Wait) -> None:
    world, seen = World(), list[list[tuple[int, str, bool]]]()

    def created(binding: Binding) -> Created:
        seen.append(world.announced())
        return Created()

    world.answer = created
    assert world.bind("a", gangs=Barrier(wait)).outcome is BindOutcome.BOUND
    assert seen == [[(1, "a", False)]]


@pytest.mark.parametrize("wait", [placed, joins_committed_gang])
def test_member_rejected_by_a_rule_is_not_bound(wait: Wait) -> None:
    world = World()
    world.bind("a")
    assert world.bind("b", gangs=Barrier(wait)) == BindResult(BindOutcome.REJECTED, ANTI_AFFINITY)


def test_announcement_is_withdrawn_if_the_gang_gives_up() -> None:
    world = World()

    def gives_up(member: GangMember) -> BindResult:
        assert member.announce() is None
        return WAITS

    world.bind("a", gangs=Barrier(gives_up))
    assert world.announced() == [(1, "a", True)]
