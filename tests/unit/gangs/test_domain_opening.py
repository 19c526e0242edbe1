"""Gangs that contend for the domain: which one is placed, how the others wait in bind, and what they leave."""

from __future__ import annotations

import pytest

from berth.extender.outcomes import BindOutcome
from berth.gangs.domain_opening import PLACING_SECONDS
from tests.simulation.gangs.binds import GangWorld, gang_of
from tests.simulation.gangs.wire import Turns
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


class TestDomainThatIsNotNeeded:
    """A call opens it for its gang, and then takes no part in a round. Others must not wait for that gang."""

    def test_is_not_opened_where_the_node_has_too_little(self) -> None:
        world = GangWorld(gang_of(4, requests={LICENCE: "5"}))
        world.run(5.0, tries=1)
        assert world.outcomes == {BindOutcome.INSUFFICIENT: 4}
        assert world.gangs.domain().open is None
        assert world.ledger.open_reservations() == []

    def test_is_closed_when_the_gang_was_committed_meanwhile(self) -> None:
        """The commit comes between the call's look at the gang's item and its look at the domain."""
        *first, late = gang_of(5, minimum=4)
        world = GangWorld([*first, late])
        for member in first[:3]:
            world.schedule(member, tries=1)
        world.world.run(1.0)

        def commit() -> None:
            world.schedule(first[3], tries=1)
            world.world.pause(0.5)

        wire = Turns(world.world)
        wire.ambush["GetItem domain"] = commit
        world.world.start("late", lambda: world.bind(late, wire))
        world.world.run(5.0)
        assert world.bound() == set(world.members)
        assert world.gangs.domain().open is None
