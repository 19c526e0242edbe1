"""The calls of the members of gangs: commits in two phases, and tables that answer slowly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.extender.outcomes import BindOutcome
from berth.gangs.item import GangState
from tests.builders.gang_items import TRAIN
from tests.simulation.gangs.binds import CALL_SECONDS, GangWorld, Member, gang_of
from tests.simulation.reservations.binds import LICENCE


class TestTwoPhases:
    def test_binds_all_members_of_120_nodes(self) -> None:
        world = GangWorld(gang_of(120))
        world.run()
        assert world.bound() == set(world.members)
        assert world.outcomes == {BindOutcome.BOUND: 120}
        assert "PutItem committed" in world.wire.calls

    def test_holds_nothing_where_the_last_node_has_too_little(self) -> None:
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
    def test_answers_in_time_and_binds_none_without_the_others(self, members: list[Member], seconds: float) -> None:
        world = GangWorld(members, request_seconds=seconds)
        world.run(30.0, tries=2)
        world.assert_whole()

    def test_begins_no_commit_for_which_it_has_too_little_time(self) -> None:
        world = GangWorld(gang_of(300), http_timeout=8.0, request_seconds=0.4)
        world.run(20.0, tries=1)
        assert world.outcomes == {BindOutcome.GANG_GAVE_UP: 300}
        assert world.held() == {}

    def test_rolls_back_a_commit_for_which_too_few_calls_waited(self) -> None:
        """The table becomes slow when the coordinator has begun to hold. Later calls begin anew."""
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

    def test_nobody_takes_over_from_a_slow_coordinator_too_early(self) -> None:
        """At 0.3 s a request, a commit of 300 nodes takes 3 s: longer than members that wait are patient otherwise."""
        world = GangWorld(gang_of(300), http_timeout=15.0, request_seconds=0.3)
        world.run(15.0, tries=1)
        assert world.bound() == set(world.members)
        assert world.wire.calls.count("PutItem preparing") == 0
