"""The calls of the members of gangs: commits in two phases, and tables that answer slowly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from berth.extender.outcomes import BindOutcome
from berth.ledger.gangs.item import GangItem, GangState
from berth.scheduling.gangs.gang import GangKey
from berth_cli.server.store.gang_table import InMemoryGangTable
from tests.builders.gang_items import TRAIN
from tests.simulation.gangs.binds import CALL_SECONDS, GangWorld, Member, gang_of
from tests.simulation.gangs.wire import Turns
from tests.simulation.reservations.binds import LICENCE, Fault
from tests.simulation.world import World

T = TypeVar("T")


class TestTwoPhases:
    def test_does_not_reserve_resources_if_the_last_node_has_too_little(self) -> None:
        members = gang_of(120)
        world = GangWorld([*members[:-1], replace(members[-1], requests={LICENCE: "2"})])
        world.occupy(members[-1].node, {LICENCE: 1}, before="BatchGetItem")
        world.run(20.0)
        assert world.bound() == set()
        assert sum(world.held().values()) == 1
        item = world.gangs.gang(TRAIN)
        assert item is not None
        assert item.state is not GangState.COMMITTED


class TestSlowTable:
    """GangWorld.bind checks that each call answers within httpTimeout."""

    @pytest.mark.parametrize("seconds", [0.05, 0.2, CALL_SECONDS], ids="{} s a request".format)
    @pytest.mark.parametrize("members", [gang_of(4), gang_of(120)], ids=["one transaction", "two phases"])
    def test_calls_respond_in_time_and_bind_all_members_or_none(self, members: list[Member], seconds: float) -> None:
        world = GangWorld(members, request_seconds=seconds)
        world.run(30.0, tries=2)
        world.assert_whole()

    def test_does_not_start_a_commit_without_enough_time(self) -> None:
        world = GangWorld(gang_of(300), http_timeout=8.0, request_seconds=0.4)
        world.run(20.0, tries=1)
        assert world.outcomes == {BindOutcome.GANG_GAVE_UP: 300}
        assert world.held() == {}

    @pytest.mark.long
    def test_rolls_back_a_commit_if_too_few_calls_still_wait(self) -> None:
        """The table becomes slow after the coordinator has begun to reserve. Later calls start over."""
        world = GangWorld(gang_of(500), http_timeout=8.0, request_seconds=0.05)
        world.wire.ambush["BatchGetItem"] = lambda: setattr(world.wire, "seconds", CALL_SECONDS)
        world.run(13.0, tries=1)
        item = world.gangs.gang(TRAIN)
        assert item is not None
        assert item.state in (GangState.PREPARING, GangState.ROLLING_BACK)
        assert world.bound() == set()
        assert sum(world.held().values()) > 0
        world.wire.seconds = 0.05
        world.run(60.0)
        assert world.bound() == set(world.members)

    def test_members_do_not_take_over_early_from_a_slow_coordinator(self) -> None:
        """At 0.3 s a request, a commit of 300 nodes takes 3 s, longer than members usually wait before a takeover."""
        world = GangWorld(gang_of(300), http_timeout=15.0, request_seconds=0.3)
        world.run(15.0, tries=1)
        assert world.bound() == set(world.members)
        assert world.wire.calls.count("PutItem preparing") == 0


class UnansweredOnce(Turns):
    """Leaves the second call of this name unanswered."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world)
        self._name = name

    def carry(self, name: str, effect: Callable[[], T], unanswered: Callable[[], T]) -> T:
        if name == self._name and self.calls.count(name) == 1:
            self.calls.append(name)
            return unanswered()
        return super().carry(name, effect, unanswered)


class TestUnansweredCall:
    @pytest.mark.parametrize("name", ["GetItem domain", "GetItem gang"])
    def test_member_continues_to_wait_after_a_table_error(self, name: str) -> None:
        """The member's intent is in the gang's item, and the other members commit with this intent."""
        first, *others = gang_of(4)
        world = GangWorld([first, *others])
        world.world.start(first.name, lambda: world.bind(first, UnansweredOnce(world.world, name)))
        for member in others:
            world.schedule(member, after=0.5, tries=1)
        world.world.run(6.0)
        assert world.outcomes == {BindOutcome.BOUND: 4}

    def test_reports_a_table_that_never_responds_as_unavailable(self) -> None:
        [first, *_] = members = gang_of(4)
        world = GangWorld(members)
        world.schedule(first, tries=1)
        world.world.run(1.0)
        world.wire.faults = dict.fromkeys(range(len(world.wire.calls), 10_000), Fault.UNSENT)
        world.world.run(6.0)
        assert world.outcomes == {BindOutcome.LEDGER_UNAVAILABLE: 1}
        item = world.gangs.gang(TRAIN)
        assert item is not None
        assert not item.waiting(world.wall())

    def test_retries_withdrawal_while_a_commit_is_in_progress(self) -> None:
        """The table refuses the withdrawal meanwhile, and the intent is still in the item afterwards."""
        [first, *_] = members = gang_of(4)
        world = GangWorld(members)
        refusals = [None, None]

        class HeldItem(InMemoryGangTable):
            def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
                return refusals.pop() if refusals else super().withdraw(key, round_, uid, attempt)

        world.gangs = HeldItem(world.ledger)
        world.schedule(first, tries=1)
        world.world.run(6.0)
        assert world.outcomes == {BindOutcome.GANG_GAVE_UP: 1}
        item = world.gangs.gang(TRAIN)
        assert item is not None
        assert item.intents == {}
