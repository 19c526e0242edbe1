"""Gangs that contend for the domain: which gang is placed, how other gangs wait in bind, and what they leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from berth.bind.announcing import Announcements
from berth.bind.gang.domain_opening import PLACING_SECONDS, DomainOpening, is_needed
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.ledger.announcements import Announcement
from berth.ledger.gangs.item import TURN_MEMBER_SECONDS, TURN_SECONDS, Domain
from berth.pods import Binding, FoundPod
from berth.scheduling.gangs.gang import Gang
from berth.scheduling.gangs.gang import gang_of as gang_of_pod
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import claim
from tests.builders.gangs import ENABLED, members
from tests.simulation.gangs.binds import GangWorld, gang_of
from tests.simulation.gangs.wire import Turns
from tests.simulation.reservations.binds import LICENCE


class TestTwoGangs:
    def test_places_the_gang_of_higher_priority_first(self) -> None:
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
    """Gangs wait in bind while another gang is open. filter has passed them, and kube-scheduler assumes their pods."""

    @pytest.mark.parametrize("gangs", [2, 3])
    def test_places_all_gangs_if_there_is_room(self, gangs: int) -> None:
        members = [each for number in range(gangs) for each in gang_of(6, name=f"gang-{number}")]
        world = GangWorld(sorted(members, key=lambda member: member.node), licences=gangs)
        world.run(10.0, tries=1)
        assert world.outcomes == {BindOutcome.BOUND: 6 * gangs}

    def test_does_not_wait_for_a_gang_that_has_been_open_for_long(self) -> None:
        """The open gang may need resources that the calls of waiting gangs occupy."""
        first, second = gang_of(6)[:5], gang_of(6, name="other")
        world = GangWorld([*first, *second], http_timeout=29.0)
        for member in first:
            world.schedule(member, tries=1)
        for member in second:
            world.schedule(member, after=PLACING_SECONDS, tries=1)
        world.world.run(PLACING_SECONDS + 1.0)
        assert world.reasons == {"gang waits: another gang is being placed": 6}

    def test_stops_waiting_for_a_gang_that_stays_incomplete(self) -> None:
        first, second = gang_of(6)[:5], gang_of(6, name="other")
        world = GangWorld([*first, *second], http_timeout=29.0)
        for member in [*first, *second]:
            world.schedule(member, tries=1)
        world.world.run(PLACING_SECONDS + 1.0)
        assert world.reasons == {"gang waits: another gang is being placed": 6}

    def test_refuses_at_once_if_too_many_members_wait(self) -> None:
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
    def test_leaves_enough_slots_to_the_open_gang(self, slots: int, http_timeout: float, seed: int) -> None:
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

    def test_queues_at_most_the_minimum_number_of_members_of_a_gang(self) -> None:
        """A user can create any number of pods for a gang."""
        first, many = gang_of(3)[:1], gang_of(300, name="elastic", minimum=2)
        world = GangWorld([*first, *many])
        world.publish()
        world.schedule(first[0], tries=1)
        for number, member in enumerate(many):
            world.schedule(member, after=0.1 + 0.001 * number, tries=1)
        world.world.run(1.0)
        assert world.reasons == {"gang waits: another gang is being placed": 298}


class TestGangThatNeverComesToItsEnd:
    """One member never reaches bind, and the calls of the other members overlap, so the gang's round stays open."""

    @staticmethod
    def world(*endless: str, http_timeout: float) -> GangWorld:
        gangs = [gang_of(4, name=name, timeout=3600)[:3] for name in endless]
        good = gang_of(4, name="good", prefix="good")
        world = GangWorld([*(each for gang in gangs for each in gang), *good], licences=20, http_timeout=http_timeout)
        for gang in gangs:
            for number, member in enumerate(gang):
                world.schedule(member, after=number * (http_timeout - 1.6) / 3, tries=10_000)
        for number, member in enumerate(good):
            world.schedule(member, after=1.0 + 0.01 * number, tries=10_000)
        return world

    @pytest.mark.parametrize("http_timeout", [5.0, 29.0])
    @pytest.mark.parametrize("endless", [1, 3])
    def test_other_gangs_of_the_same_priority_are_placed_in_turn(self, http_timeout: float, endless: int) -> None:
        world = self.world(*(f"endless-{number}" for number in range(endless)), http_timeout=http_timeout)
        turn = TURN_SECONDS + 4 * TURN_MEMBER_SECONDS
        world.world.run(2 * endless * turn)
        assert len(world.bound("good")) == 4

    def test_calls_of_a_gang_end_when_another_gang_is_opened(self) -> None:
        world = self.world("endless", http_timeout=29.0)
        world.world.run(TURN_SECONDS + 10.0)
        assert world.outcomes[BindOutcome.BOUND] == 4
        assert world.outcomes[BindOutcome.GANG_WAITS] >= 3


class SeenAnnouncements(Announcements):
    """Records the member's gang and the open gang at each announcement."""

    def __init__(self, world: GangWorld) -> None:
        self._world = world
        self.seen: list[tuple[str, str]] = []
        self.counting: set[str] = set()

    def begin(self, binding: Binding) -> None:
        pass

    def announce(self, binding: Binding, found: FoundPod, deadline: Deadline) -> Announcement:
        claim = self._world.gangs.domain().open
        self.seen.append((self._world.members[binding.pod_name].gang, "" if claim is None else claim.key.name))
        self.counting.add(binding.pod_name)
        pod = members("train", 1)[0]
        return Announcement(len(self.seen), binding.pod_name, pod, b"", found.resource_version, until=0.0)

    def withdraw(self, announced: Announcement) -> None:
        self.counting.remove(announced.attempt)


class TestAnnouncements:
    """Rules about other pods count announced pods, so a member is not announced while its gang waits for another."""

    def test_members_are_announced_only_while_their_gang_is_open(self) -> None:
        found = [each for number in range(3) for each in gang_of(4, name=f"gang-{number}")]
        world = GangWorld(sorted(found, key=lambda member: member.node), licences=3)
        world.announcements = announcements = SeenAnnouncements(world)
        world.run(10.0)
        assert world.bound(None) == announcements.counting == set(world.members)
        assert {gang == opened for gang, opened in announcements.seen} == {True}

    def test_announcement_is_withdrawn_before_the_call_queues(self) -> None:
        """The member was announced because its gang was open at an earlier read of the domain."""
        table = InMemoryGangTable(InMemoryLedgerTable())
        table.put_domain(Domain(claim("other", opened_at=1.0), 1), Domain())
        found = gang_of_pod(members("train", 4)[0], {}, ENABLED)
        assert isinstance(found, Gang)
        withdrawn: list[bool] = []

        def close(seconds: float) -> None:
            assert withdrawn == [True]
            seen = table.domain()
            table.put_domain(seen.closed(), seen)

        opening = DomainOpening(table, found, True, lambda: withdrawn.append(True), lambda _: True, lambda: 2.0, close)
        assert opening.open() == table.domain()


@pytest.mark.parametrize(
    ("uid", "known", "wanted"),
    [
        pytest.param("uid-train-1", 4, True, id="among the first"),
        pytest.param("uid-train-2", 4, False, id="beyond the minimum"),
        pytest.param("uid-train-10", 11, False, id="beyond the minimum by name length"),
        pytest.param("uid-new", 1, True, id="not cached yet while others are missing"),
        pytest.param("uid-new", 2, False, id="not cached yet while enough others wait"),
        pytest.param("uid-new", 0, True, id="no member is cached"),
    ],
)
def test_only_the_minimum_number_of_members_waits(uid: str, known: int, wanted: bool) -> None:
    pods = {pod.uid: pod for pod in members("train", 2, count=known)}
    assert is_needed(uid, 2, pods) is wanted


@pytest.mark.parametrize(
    "first",
    [pytest.param({"node_name": "n0"}, id="is on a node"), pytest.param({"terminating": True}, id="is being deleted")],
)
def test_only_waiting_members_count_towards_the_minimum(first: Mapping[str, Any]) -> None:
    *others, last = members("train", 2, count=3)
    pods = {pod.uid: pod for pod in [replace(others[0], **first), *others[1:], last]}
    assert is_needed(last.uid, 2, pods)


class TestDomainThatIsNotNeeded:
    """If a call does not join a round, it must not leave the domain open: other gangs would wait for its gang."""

    def test_domain_is_not_opened_if_the_node_has_too_little(self) -> None:
        world = GangWorld(gang_of(4, requests={LICENCE: "5"}))
        world.run(5.0, tries=1)
        assert world.outcomes == {BindOutcome.INSUFFICIENT: 4}
        assert world.gangs.domain().open is None
        assert world.ledger.open_reservations() == []

    def test_domain_is_closed_if_the_gang_was_committed_meanwhile(self) -> None:
        """The commit happens between the call's read of the gang's item and its read of the domain."""
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
