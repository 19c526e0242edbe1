"""Reservations in floating pools, with or without a reservation on the node: creation, takeover and release."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from berth.bind.share import CONTENDED, NO_LEDGER, Reservation
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import CacheUnavailable, DecisionContext
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.pods import Binding, Refused
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import is_floating, label_pool
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from tests.builders.nodes import node_with
from tests.fakes.counted_cluster import BY_DEVICE, FIRST, REQUEST, SECOND, SLOT, SLOTS_OF_ZONES, ZONE
from tests.fakes.node_cache import FixedNodeCache
from tests.unit.bind.pool_world import (
    NODE,
    OTHER,
    SEATS,
    SLOTS,
    SLOTS_OF_ML,
    TIMEOUT,
    Answer,
    Answering,
    PoolWorld,
    floating_slots,
    limited_slots,
    slots_and_seats,
)

# -------------------------------------------------------------------------------------------------------------- reserve


def test_reserves_only_in_the_floating_pool_if_the_node_provides_none() -> None:
    world = floating_slots()
    assert world.bind().outcome is BindOutcome.BOUND
    assert world.held() == {SLOTS: {SLOTS: 2}}
    assert world.table.calls == ["put open", f"write {SLOTS}"]
    [opened] = world.table.open_reservations()
    assert (opened.node, set(opened.owners)) == (NODE, {SLOTS})


def test_reserves_node_and_floating_pool_in_one_transaction() -> None:
    world = slots_and_seats()
    assert world.bind().outcome is BindOutcome.BOUND
    assert world.held() == {NODE: {SLOT: 2}, SEATS: {SEATS: 2}}
    assert world.table.calls == [f"write {NODE} and {SEATS}"]
    [opened] = world.table.open_reservations()
    assert (opened.node, set(opened.owners), dict(opened.shares)) == (NODE, {NODE, SEATS}, {SLOT: 2, SEATS: 2})


def test_reads_only_the_node_to_choose_a_device_beside_a_floating_pool() -> None:
    world = PoolWorld(BY_DEVICE, {SEATS: 5}, nodes={FIRST: 8, SECOND: 8})
    found = world.reserve({SEATS: 1}, Demand(SLOT, 3))
    assert isinstance(found, Reservation)
    [device] = {FIRST, SECOND} & found.shares.keys()
    assert world.held() == {NODE: {device: 3}, SEATS: {SEATS: 1}}
    assert world.table.calls == [f"read {NODE}", f"write {NODE} and {SEATS}"]


@pytest.mark.parametrize(
    ("world", "owner", "occupied", "reason"),
    [
        pytest.param(floating_slots, SLOTS, 7, "Insufficient example.com/slot in the cluster", id="only the cluster"),
        pytest.param(slots_and_seats, SEATS, 4, "Insufficient example.com/seat in the cluster", id="the cluster"),
        pytest.param(slots_and_seats, NODE, 7, "Insufficient example.com/slot", id="the node, not the cluster"),
        pytest.param(
            limited_slots, SLOTS_OF_ML, 5, "Insufficient example.com/slot in the pod's namespace", id="the namespace"
        ),
    ],
)
def test_does_not_reserve_if_one_pool_is_insufficient(
    world: Callable[[], PoolWorld], owner: str, occupied: int, reason: str
) -> None:
    found = world()
    found.occupy(owner, occupied)
    before = found.table.nodes()
    assert found.bind() == BindResult(BindOutcome.INSUFFICIENT, reason)
    assert found.table.nodes() == before
    assert found.table.open_reservations() == []


@pytest.mark.parametrize("owner", [NODE, SEATS])
@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_does_not_reserve_if_one_ledger_is_not_ready(owner: str, is_rebuilt: bool) -> None:
    world = slots_and_seats()
    if is_rebuilt:
        world.table.begin_rebuild(owner, 1)
    else:
        world.table.delete_if_empty(owner, 1)
    before = world.table.nodes()
    assert world.bind() == NO_LEDGER
    assert world.table.nodes() == before
    assert world.table.open_reservations() == []


@pytest.mark.parametrize("owner", [NODE, SEATS])
def test_refuses_bind_while_a_ledger_is_rebuilt_even_after_an_earlier_attempt(owner: str) -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2))
    world.table.begin_rebuild(owner, 1)
    assert world.bind() == NO_LEDGER


def test_returns_contended_if_the_entry_in_the_pool_is_bound() -> None:
    """As if the watcher had confirmed the pod after bind read it from the API server."""
    world = slots_and_seats()
    bound = Entry(world.pod, EntryState.BOUND, "", {SEATS: 2}, 0.0)
    world.table.delete_if_empty(SEATS, 1)
    world.table.create(new_ledger(SEATS, {SEATS: 5}, {world.pod.uid: bound}, epoch=1))
    assert world.bind() == CONTENDED
    assert world.held() == {SEATS: {SEATS: 2}}
    assert world.table.open_reservations() == []


# --------------------------------------------------------------------------------------------------------------- labels


def cache_of(zones: Mapping[str, str]) -> FixedNodeCache:
    labels = ({ZONE: zones[name]} if name in zones else {} for name in (NODE, OTHER))
    nodes = map(node_with, (NODE, OTHER), labels)
    return FixedNodeCache.of(BerthConfiguration(), *nodes)


def slots_of_zones(zones: Mapping[str, str]) -> PoolWorld:
    pools = {label_pool(SLOT, ZONE, "a"): 4, label_pool(SLOT, ZONE, "b"): 6}
    world = PoolWorld(SLOTS_OF_ZONES, pools)
    world.cache = cache_of(zones)
    return world


@pytest.mark.parametrize(("node", "zone"), [(NODE, "a"), (OTHER, "b")])
def test_reserves_in_the_pool_of_the_nodes_label(node: str, zone: str) -> None:
    world = slots_of_zones({NODE: "a", OTHER: "b"})
    assert world.bind(node).outcome is BindOutcome.BOUND
    assert world.held() == {label_pool(SLOT, ZONE, zone): {label_pool(SLOT, ZONE, zone): 2}}


def test_refuses_a_node_without_the_label() -> None:
    world = slots_of_zones({OTHER: "b"})
    reason = "node(s) had no label topology.kubernetes.io/zone, by which example.com/slot is counted"
    assert world.bind() == BindResult(BindOutcome.INSUFFICIENT, reason)
    assert world.table.calls == []


def test_refuses_a_label_pool_while_the_cache_is_unavailable() -> None:
    world = slots_of_zones({})
    unavailable = CacheUnavailable("the node cache is 90 s old")
    world.cache = FixedNodeCache(BerthConfiguration(), unavailable)
    assert world.bind() == BindResult(BindOutcome.NO_LEDGER, unavailable.reason)
    assert world.table.calls == []


def test_does_not_read_the_cache_for_pods_without_a_label_pool() -> None:
    class Unread(FixedNodeCache):
        def current(
            self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
        ) -> DecisionContext:
            raise AssertionError("the cache is read")

    world = slots_and_seats()
    world.cache = Unread(BerthConfiguration(), CacheUnavailable(""))
    assert world.bind().outcome is BindOutcome.BOUND


# ------------------------------------------------------------------------------------------------------------ take over


def test_takes_over_every_entry_of_an_earlier_attempt() -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2))
    world.table.calls.clear()
    found = world.reserve({SEATS: 2}, Demand(SLOT, 2))
    assert isinstance(found, Reservation)
    assert not found.is_first_attempt
    assert not found.has_surplus
    assert world.attempts() == {NODE: "attempt-2", SEATS: "attempt-2"}
    assert world.held() == {NODE: {SLOT: 2}, SEATS: {SEATS: 2}}


def test_takes_over_the_entry_of_the_cluster_from_an_attempt_on_another_node() -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2), node=OTHER)
    found = world.reserve({SEATS: 2}, Demand(SLOT, 2))
    assert isinstance(found, Reservation)
    assert not found.is_first_attempt, "a Binding of the earlier attempt may arrive"
    assert world.attempts() == {OTHER: "attempt-1", NODE: "attempt-2", SEATS: "attempt-2"}
    assert world.ledger(SEATS).avail == {SEATS: 3}


def test_takes_over_its_own_amounts_even_if_they_fill_the_pool() -> None:
    world = slots_and_seats(5)
    world.reserve({SEATS: 5}, Demand(SLOT, 5))
    assert isinstance(world.reserve({SEATS: 5}, Demand(SLOT, 5)), Reservation)
    assert world.ledger(SEATS).avail == {}


# Reservations in floating pools that are released or reduced.


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
    """The pod runs on the other node, and keeps its seats."""
    world = slots_and_seats()
    binder = Answering(world.cluster, before=[lambda: world.bind(OTHER)])

    assert world.bind(binder=binder).outcome is BindOutcome.BOUND_ELSEWHERE

    assert world.cluster.pods["a"].node == OTHER
    assert world.held()[SEATS] == {SEATS: 2}
    assert world.held()[OTHER] == {SLOT: 2}


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


def test_each_entry_keeps_an_open_reservation_if_the_release_of_surplus_times_out() -> None:
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
