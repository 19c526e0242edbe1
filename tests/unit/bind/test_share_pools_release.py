"""Reservations in floating pools that are released or reduced."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.bind.share import Reservation
from berth.extender.outcomes import BindOutcome
from berth.pods import Binding, Refused
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import is_floating
from tests.fakes.counted_cluster import (
    REQUEST,
    SLOT,
)
from tests.unit.bind.pool_world import (
    NODE,
    OTHER,
    SEATS,
    SLOTS_OF_ML,
    TIMEOUT,
    Answer,
    Answering,
    PoolWorld,
    floating_slots,
    limited_slots,
    slots_and_seats,
)

# -------------------------------------------------------------------------------------------------------------- release


def refused(binding: Binding) -> Refused:
    return Refused(403, "an admission webhook denied the request")


def gone(binding: Binding) -> Refused:
    return Refused(404, 'pods "a" not found')


@pytest.mark.parametrize(
    ("world", "answer", "outcome"),
    [
        pytest.param(world, answer, outcome, id=f"{world.__name__}, {answer.__name__}")
        for world in (floating_slots, slots_and_seats, limited_slots)
        for answer, outcome in ((refused, BindOutcome.REFUSED), (gone, BindOutcome.POD_GONE))
    ],
)
def test_releases_every_owner_if_the_binding_can_never_succeed(
    world: Callable[[], PoolWorld], answer: Answer, outcome: BindOutcome
) -> None:
    found = world()
    before = found.table.nodes()
    assert found.bind(binder=Answering(found.cluster, answer)).outcome is outcome
    assert found.table.nodes() == before
    assert found.table.open_reservations() == []


def test_keeps_every_entry_if_the_first_of_two_attempts_may_still_be_bound() -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2), node=OTHER)
    assert world.bind(binder=Answering(world.cluster, refused)).outcome is BindOutcome.REFUSED
    assert world.held() == {OTHER: {SLOT: 2}, NODE: {SLOT: 2}, SEATS: {SEATS: 2}}
    assert len(world.table.open_reservations()) == 2


@pytest.mark.parametrize("owners", [{NODE, SEATS}, {SEATS}, {NODE}])
def test_releases_only_entries_of_the_given_attempt(owners: set[str]) -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2))
    world.reservations.release(world.binding(), owners, lambda: TIMEOUT, "another attempt")
    assert world.held() == {NODE: {SLOT: 2}, SEATS: {SEATS: 2}}
    world.reservations.release(world.binding(), {NODE, SEATS}, lambda: TIMEOUT, "attempt-1")
    assert world.held() == {}
    assert world.table.open_reservations() == []


def test_keeps_the_open_reservation_if_the_deadline_passes_between_the_releases() -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2))
    left = iter((1.0, 1.0, 0.0))
    world.reservations.release(world.binding(), (NODE, SEATS), lambda: next(left), "attempt-1")
    assert world.held() == {SEATS: {SEATS: 2}}
    assert [each.attempt for each in world.table.open_reservations()] == ["attempt-1"]


def test_keeps_the_clusters_entry_of_another_bind_that_bound_the_pod_elsewhere() -> None:
    """The pod runs on the other node, and its seats are its own."""
    world = slots_and_seats()
    binder = Answering(world.cluster, before=[lambda: world.bind(OTHER)])

    assert world.bind(binder=binder).outcome is BindOutcome.BOUND_ELSEWHERE

    assert world.cluster.pods["a"].node == OTHER
    assert world.held()[SEATS] == {SEATS: 2}
    assert world.held()[OTHER] == {SLOT: 2}


# -------------------------------------------------------------------------------------------------------------- surplus


def test_reduces_every_entry_to_the_request_of_the_bound_pod() -> None:
    world = limited_slots(3)
    world.reserve({SLOTS_OF_ML: 3}, Demand(SLOT, 3))
    world.cluster.annotate("a", REQUEST, "2")

    assert world.bind().outcome is BindOutcome.BOUND

    assert world.held() == {NODE: {SLOT: 2}, SLOTS_OF_ML: {SLOTS_OF_ML: 2}}
    assert (world.ledger(NODE).avail, world.ledger(SLOTS_OF_ML).avail) == ({SLOT: 6}, {SLOTS_OF_ML: 4})
    [attempt] = set(world.attempts().values())
    opened = {each.attempt: dict(each.shares) for each in world.table.open_reservations()}
    assert opened[attempt] == {SLOT: 2, SLOTS_OF_ML: 2}


def test_each_entry_has_an_open_reservation_if_the_deadline_passes_while_the_surplus_is_released() -> None:
    world = limited_slots(3)
    world.reserve({SLOTS_OF_ML: 3}, Demand(SLOT, 3))
    found = world.reserve({SLOTS_OF_ML: 2}, Demand(SLOT, 2))
    assert isinstance(found, Reservation)
    assert found.has_surplus
    left = iter((1.0, 1.0, 1.0, 0.0))

    world.reservations.release_surplus(found, lambda: next(left))

    assert sorted(sum(shares.values()) for shares in world.held().values()) == [2, 3]
    opened = {each.attempt: each.owners for each in world.table.open_reservations()}
    assert all(owner in opened[attempt] for owner, attempt in world.attempts().items())


def test_does_not_reduce_entries_of_a_later_attempt() -> None:
    world = limited_slots(3)
    world.reserve({SLOTS_OF_ML: 3}, Demand(SLOT, 3))
    found = world.reserve({SLOTS_OF_ML: 2}, Demand(SLOT, 2))
    assert isinstance(found, Reservation)
    world.reserve({SLOTS_OF_ML: 2}, Demand(SLOT, 2), node=OTHER)

    world.reservations.release_surplus(found, lambda: TIMEOUT)

    floating = {owner: shares for owner, shares in world.held().items() if is_floating(owner)}
    assert floating == {SLOTS_OF_ML: {SLOTS_OF_ML: 3}}
    assert world.held()[NODE] == {SLOT: 2}
