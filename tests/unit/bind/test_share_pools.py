"""Reservations in floating pools: with a node and alone, by label, and taken over."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from berth.bind.share import CONTENDED, NO_LEDGER, Reservation
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import CacheUnavailable, DecisionContext
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import label_pool
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from tests.builders.nodes import node_with
from tests.fakes.counted_cluster import (
    BY_DEVICE,
    FIRST,
    SECOND,
    SLOT,
    SLOTS_OF_ZONES,
    ZONE,
)
from tests.fakes.node_cache import FixedNodeCache
from tests.unit.bind.pool_world import (
    NODE,
    OTHER,
    SEATS,
    SLOTS,
    SLOTS_OF_ML,
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
        pytest.param(slots_and_seats, NODE, 7, "Insufficient example.com/slot", id="the node beside the cluster"),
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
def test_waits_for_a_ledger_that_is_rebuilt_beside_an_entry_of_an_earlier_attempt(owner: str) -> None:
    world = slots_and_seats()
    world.reserve({SEATS: 2}, Demand(SLOT, 2))
    world.table.begin_rebuild(owner, 1)
    assert world.bind() == NO_LEDGER


def test_returns_contended_if_the_entry_in_the_pool_is_bound() -> None:
    """The watcher has confirmed the pod, after bind read it."""
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
