"""The items of gangs: which gang of a domain is open, and which members wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.ledger.gangs.item import (
    MAX_QUEUED_GANGS,
    MAX_QUEUED_MEMBERS,
    QUEUED_SECONDS,
    REST_SECONDS,
    TURN_MEMBER_SECONDS,
    TURN_SECONDS,
    Claim,
    Domain,
    QueuedGang,
)
from berth.scheduling.gangs.gang import GangKey
from tests.builders.gang_items import TRAIN, claim, gang, intent

NOW = 30.0
OTHER = GangKey("ml", "other")
OPEN = Domain(claim("other", opened_at=NOW - 1), 4)
TURN_OVER = Domain(claim("other", opened_at=NOW - TURN_SECONDS - 4 * TURN_MEMBER_SECONDS, minimum=4), 4)
OVER = Domain(claim("other", until=NOW - 1), 4)


@pytest.mark.parametrize(
    ("domain", "mine", "after"),
    [
        pytest.param(Domain(), claim(), Domain(claim(), 1), id="no gang was ever open"),
        pytest.param(Domain(None, 4), claim(), Domain(claim(), 5), id="no gang is open"),
        pytest.param(OPEN, claim("other", until=99.0), OPEN, id="already open and not extended"),
        pytest.param(OPEN, claim(), None, id="another gang of the same priority is open"),
        pytest.param(OPEN, claim(priority=1), Domain(claim(priority=1), 5), id="a lower priority is open"),
        pytest.param(OPEN, claim(priority=-1), None, id="a higher priority is open"),
        pytest.param(
            TURN_OVER, claim(), Domain(claim(), 5, OTHER, NOW + REST_SECONDS), id="the turn of the open gang is over"
        ),
        pytest.param(
            replace(TURN_OVER, open=claim("other", opened_at=NOW - TURN_SECONDS, minimum=4)),
            claim(),
            None,
            id="the turn of a large open gang is not over",
        ),
        pytest.param(TURN_OVER, claim(priority=-1), None, id="the turn of a higher priority is over but not its time"),
        pytest.param(
            TURN_OVER, claim("other", until=99.0), TURN_OVER, id="its own turn is over and no other gang waits"
        ),
        pytest.param(
            OVER,
            claim(priority=-1),
            Domain(claim(priority=-1), 5, OTHER, NOW - 1 + REST_SECONDS),
            id="the time of the open gang is over: it pauses",
        ),
        pytest.param(OVER, claim("other", until=99.0), None, id="its own time is over: it pauses"),
        pytest.param(
            Domain(claim("other", until=NOW - REST_SECONDS), 4),
            claim("other", until=99.0),
            Domain(claim("other", until=99.0), 5, OTHER, NOW),
            id="its own time is over and it has paused",
        ),
        pytest.param(replace(OPEN, resting=TRAIN, rest_until=NOW + 1), claim(priority=9), None, id="it pauses"),
        pytest.param(
            Domain(None, 4, TRAIN, NOW + 1),
            claim(),
            Domain(claim(), 5, TRAIN, NOW + 1),
            id="it pauses while no gang is open",
        ),
        pytest.param(
            replace(OPEN, resting=TRAIN, rest_until=NOW),
            claim(priority=9),
            Domain(claim(priority=9), 5, TRAIN, NOW),
            id="paused",
        ),
    ],
)
def test_opens_one_gang_at_a_time_and_prefers_higher_priority(
    domain: Domain, mine: Claim, after: Domain | None
) -> None:
    assert domain.opened_by(mine, NOW) == after


@pytest.mark.parametrize(
    ("domain", "holds"),
    [
        pytest.param(Domain(claim(), 3), True, id="this round"),
        pytest.param(Domain(claim(), 4), False, id="a later round"),
        pytest.param(Domain(claim("other"), 3), False, id="another gang"),
        pytest.param(Domain(None, 3), False, id="no open gang"),
    ],
)
def test_domain_recognizes_the_round_that_it_opened(domain: Domain, holds: bool) -> None:
    assert domain.holds(TRAIN, 3) is holds


def test_counts_only_members_whose_calls_still_wait() -> None:
    waits, ended = intent("train-0", until=NOW + 0.5), intent("train-1", until=NOW)
    assert gang([waits, ended]).waiting(NOW) == {waits.pod.uid: waits}


@pytest.mark.parametrize(
    ("zones", "wanted"),
    [
        pytest.param(["", ""], [0, 1], id="without a topology key"),
        pytest.param(["a", "a"], [0, 1], id="all in one domain"),
        pytest.param(["a", "b"], [], id="no domain reaches the minimum"),
        pytest.param(["b", "a", "b", "b", "a"], [0, 2, 3], id="the domain with the most members"),
        pytest.param(["b", "a", "b", "a"], [1, 3], id="first by value of equal domains"),
    ],
)
def test_commit_takes_only_members_of_one_topology_domain(zones: list[str], wanted: list[int]) -> None:
    members = [intent(f"train-{number}", topology=zone) for number, zone in enumerate(zones)]
    assert set(gang(members, minimum=2).complete(NOW)) == {members[number].pod.uid for number in wanted}


def test_commit_is_empty_if_fewer_calls_than_the_minimum_still_wait() -> None:
    members = [intent("train-0", until=NOW + 1), intent("train-1", until=NOW)]
    assert gang(members, minimum=2).complete(NOW) == {}


class TestQueue:
    """Which gangs may wait in bind while another one is open."""

    FULL = Domain(claim("other"), 4, queue={OTHER: QueuedGang(MAX_QUEUED_MEMBERS - 3, NOW + 1)})

    @pytest.mark.parametrize(
        ("domain", "members", "may_wait"),
        [
            pytest.param(OPEN, 4, True, id="no other gang waits"),
            pytest.param(OPEN, 5000, True, id="no other gang waits for a large gang"),
            pytest.param(FULL, 3, True, id="room beside the others"),
            pytest.param(FULL, 4, False, id="no room beside the others"),
            pytest.param(replace(FULL, queue={OTHER: QueuedGang(5000, NOW)}), 4, True, id="the others no longer wait"),
            pytest.param(
                replace(
                    OPEN,
                    queue={GangKey("ml", str(each)): QueuedGang(1, NOW + 1) for each in range(MAX_QUEUED_GANGS)},
                ),
                1,
                False,
                id="too many gangs wait",
            ),
        ],
    )
    def test_number_of_members_in_the_queue_is_bounded(self, domain: Domain, members: int, may_wait: bool) -> None:
        found = domain.queued(TRAIN, members, NOW)
        assert (found is not None) is may_wait
        if found is not None:
            assert found.queue[TRAIN] == QueuedGang(members, NOW + QUEUED_SECONDS)

    @pytest.mark.parametrize(
        ("left", "is_renewed"),
        [
            pytest.param(QUEUED_SECONDS / 2, True, id="half of the time is over"),
            pytest.param(QUEUED_SECONDS, False, id="new"),
        ],
    )
    def test_queue_place_is_renewed_after_half_of_its_time(self, left: float, is_renewed: bool) -> None:
        domain = replace(OPEN, queue={TRAIN: QueuedGang(4, NOW + left)})
        found = domain.queued(TRAIN, 4, NOW)
        assert (found is not domain) is is_renewed

    def test_opened_gang_leaves_the_queue_and_others_stay(self) -> None:
        queue = {TRAIN: QueuedGang(4, NOW + 1), OTHER: QueuedGang(4, NOW + 1)}
        opened = Domain(None, 4, queue=queue).opened_by(claim(), NOW)
        assert opened is not None
        assert opened.queue == {OTHER: QueuedGang(4, NOW + 1)}
        assert opened.closed().queue == opened.queue
