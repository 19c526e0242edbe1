"""The calls of the members of gangs: two gangs at once, commits in two phases, and tables that answer slowly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.extender.outcomes import BindOutcome
from berth.gangs.item import GangState
from berth.gangs.member_call import PLACING_SECONDS
from tests.builders.gang_items import TRAIN
from tests.simulation.gangs.binds import CALL_SECONDS, GangWorld, Member, gang_of
from tests.simulation.reservations.binds import LICENCE


class TestTwoGangs:
    def test_places_one_after_the_other_on_room_for_one(self) -> None:
        first, second = gang_of(6), gang_of(6, name="other")
        world = GangWorld([each for pair in zip(first, second, strict=True) for each in pair], licences=1)
        world.run(60.0)
        assert sorted(map(len, (world.bound("train"), world.bound("other")))) == [0, 6]

    def test_places_both_where_there_is_room(self) -> None:
        first, second = gang_of(6), gang_of(6, name="other")
        world = GangWorld([each for pair in zip(first, second, strict=True) for each in pair])
        world.run(60.0)
        assert world.bound("train") | world.bound("other") == set(world.members)

    def test_places_the_higher_priority_first(self) -> None:
        *first, last = gang_of(4)
        urgent = gang_of(4, name="urgent", priority=10)
        world = GangWorld([*first, last, *urgent], licences=1)
        for member in first:
            world.schedule(member)
        for member in urgent:
            world.schedule(member, after=1.0)
        world.schedule(last, after=2.0)
        world.world.run(60.0)
        assert world.bound("urgent") == {member.name for member in urgent}
        assert world.bound("train") == set()


class TestGangsThatWaitForAnother:
    """In bind, while another gang is open: filter has passed them, and kube-scheduler says that they are placed."""

    @pytest.mark.parametrize("gangs", [2, 3])
    def test_places_all_and_refuses_none_where_there_is_room(self, gangs: int) -> None:
        members = [each for number in range(gangs) for each in gang_of(6, name=f"gang-{number}")]
        world = GangWorld(sorted(members, key=lambda member: member.node), licences=gangs)
        world.run(10.0, tries=1)
        assert world.outcomes == {BindOutcome.BOUND: 6 * gangs}

    def test_does_not_wait_for_a_gang_that_is_open_for_long(self) -> None:
        """It misses a member, which may need what the calls of the others occupy."""
        first, second = gang_of(6)[:5], gang_of(6, name="other")
        world = GangWorld([*first, *second], http_timeout=29.0)
        for member in first:
            world.schedule(member, tries=1)
        for member in second:
            world.schedule(member, after=PLACING_SECONDS, tries=1)
        world.world.run(PLACING_SECONDS + 1.0)
        assert world.reasons == {"gang waits: another gang is being placed": 6}

    def test_waits_no_longer_than_for_a_gang_that_does_not_come_to_its_end(self) -> None:
        first, second = gang_of(6)[:5], gang_of(6, name="other")
        world = GangWorld([*first, *second], http_timeout=29.0)
        for member in [*first, *second]:
            world.schedule(member, tries=1)
        world.world.run(PLACING_SECONDS + 1.0)
        assert world.reasons == {"gang waits: another gang is being placed": 6}

    def test_refuses_at_once_when_too_many_wait(self) -> None:
        first = gang_of(2)[:1]
        others = [each for number in range(3) for each in gang_of(90, name=f"gang-{number}")]
        world = GangWorld([*first, *others])
        world.schedule(first[0], tries=1)
        for number, member in enumerate(others):
            world.schedule(member, after=0.1 + 0.001 * number, tries=1)
        world.world.run(1.0)
        assert world.reasons == {"gang waits: another gang is being placed": 90}

    @pytest.mark.parametrize("slots", [6, 8, 13])
    @pytest.mark.parametrize("http_timeout", [5.0, 29.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_leaves_the_open_gang_the_slots_that_it_needs(self, slots: int, http_timeout: float, seed: int) -> None:
        members = [each for number in range(3) for each in gang_of(6, name=f"gang-{number}")]
        world = GangWorld(
            sorted(members, key=lambda member: member.node),
            licences=3,
            seed=seed,
            slots=slots,
            http_timeout=http_timeout,
        )
        world.run(120.0, tries=1000)
        assert world.bound(None) == set(world.members)


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
