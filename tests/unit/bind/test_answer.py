"""bind with counted resources: its outcomes, its calls, and what it leaves in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from berth.extender.outcomes import BindOutcome
from berth.ledger.nodes.entry import EntryState
from berth.scheduling.configuration.document import BindConfiguration
from tests.simulation.reservations.binds import GPU_MEMORY, LICENCE, BindWorld, Fault, Wire

POD, UID = "train-0", "uid-1"
ANNOTATION = "berth.dev/example.com.gpumem"


def world_with(requests: Mapping[str, str]) -> BindWorld:
    """Return a world with a pending pod that has these requests."""
    world = BindWorld()
    world.pods.add(POD, UID, requests)
    return world


@pytest.mark.parametrize(
    ("requests", "calls"),
    [
        pytest.param({LICENCE: "2"}, ["GET", "PutItem", "UpdateItem", "Binding"], id="without devices"),
        pytest.param(
            {GPU_MEMORY: "3000", LICENCE: "1"},
            ["GET", "GetItem", "PutItem", "UpdateItem", "Binding"],
            id="with devices: one more read to choose a device",
        ),
        pytest.param({"cpu": "1"}, ["GET", "Binding"], id="no counted resource"),
    ],
)
def test_makes_only_the_expected_calls_without_contention(requests: Mapping[str, str], calls: list[str]) -> None:
    world, wire = world_with(requests), Wire()
    assert world.bind(POD, UID, "n1", wire) is BindOutcome.BOUND
    assert wire.calls == calls


@pytest.mark.parametrize(
    ("scheduler", "namespace", "calls"),
    [
        pytest.param("x", "ml", ["GET"], id="another scheduler"),
        pytest.param("berth-scheduler", "x", [], id="another namespace"),
    ],
)
def test_does_not_reserve_for_a_pod_that_bind_does_not_cover(scheduler: str, namespace: str, calls: list[str]) -> None:
    world, wire = world_with({LICENCE: "2"}), Wire()
    limits = BindConfiguration(namespaces=frozenset({namespace}))
    assert world.bind(POD, UID, "n1", wire, limits, frozenset({scheduler})) is BindOutcome.NOT_COVERED
    assert wire.calls == calls


def test_writes_entry_to_ledger_and_device_to_pod() -> None:
    world = world_with({GPU_MEMORY: "3000", LICENCE: "1"})
    world.bind(POD, UID, "n1")
    ledger = world.table.node("n1")
    assert ledger is not None
    [entry] = ledger.entries.values()
    assert entry.state is EntryState.RESERVED
    [(device, amount), licence] = sorted(entry.shares.items())
    assert (amount, licence) == (3000, (LICENCE, 1))
    pod = world.pods.stored(POD)
    assert pod is not None
    assert pod.annotations == {ANNOTATION: device.partition("#")[2]}


@pytest.mark.parametrize(
    ("prepare", "outcome"),
    [
        pytest.param(lambda world: world.pods.delete(POD), BindOutcome.POD_GONE, id="the pod is gone"),
        pytest.param(lambda world: world.pods.add(POD, "uid-2", {}), BindOutcome.POD_GONE, id="it was replaced"),
        pytest.param(
            lambda world: world.pods.change(POD, deleting=True), BindOutcome.REFUSED, id="it is being deleted"
        ),
        pytest.param(
            lambda world: world.pods.change(POD, requests={LICENCE: "5"}),
            BindOutcome.INSUFFICIENT,
            id="insufficient capacity",
        ),
        pytest.param(
            lambda world: world.table.begin_rebuild("n1", 99), BindOutcome.NO_LEDGER, id="the ledger is rebuilt"
        ),
        pytest.param(
            lambda world: world.pods.change(POD, requests={LICENCE: "1e17"}),
            BindOutcome.UNREADABLE,
            id="invalid amount",
        ),
        pytest.param(
            lambda world: world.pods.change(POD, requests={LICENCE: "1", GPU_MEMORY: "1e17"}),
            BindOutcome.UNREADABLE,
            id="invalid amount beside a valid one",
        ),
        pytest.param(
            lambda world: setattr(world.pods, "refuse_bindings", 1), BindOutcome.REFUSED, id="the Binding is forbidden"
        ),
    ],
)
def test_does_not_leave_a_reservation_if_bind_fails(
    prepare: Callable[[BindWorld], object], outcome: BindOutcome
) -> None:
    world = world_with({LICENCE: "2"})
    prepare(world)
    assert world.bind(POD, UID, "n1") is outcome
    ledger = world.table.node("n1")
    assert ledger is not None
    assert ledger.entries == {}
    assert world.table.open_reservations() == []


@pytest.mark.parametrize("deleting", [False, True])
def test_bind_of_a_pod_already_on_the_node_makes_only_one_get(deleting: bool) -> None:
    world, wire = world_with({LICENCE: "2"}), Wire()
    world.bind(POD, UID, "n1")
    world.pods.change(POD, deleting=deleting)
    before = world.table.node("n1"), world.table.open_reservations()

    assert world.bind(POD, UID, "n1", wire) is BindOutcome.ALREADY_BOUND
    assert wire.calls == ["GET"]
    assert (world.table.node("n1"), world.table.open_reservations()) == before


def test_releases_reservation_if_the_pod_is_bound_elsewhere() -> None:
    world = world_with({LICENCE: "2"})
    world.bind(POD, UID, "n1", Wire({3: Fault.DIES_BEFORE}))
    world.bind(POD, UID, "n2")

    assert world.bind(POD, UID, "n1") is BindOutcome.BOUND_ELSEWHERE
    ledger = world.table.node("n1")
    assert ledger is not None
    assert ledger.entries == {}
    assert [each.node for each in world.table.open_reservations()] == ["n2"]


def test_repeats_binding_with_the_same_reservation_if_the_pod_changes() -> None:
    world = world_with({LICENCE: "2"})
    wire = Wire(before={3: lambda: world.pods.change(POD, annotations={"note": "other"})})
    assert world.bind(POD, UID, "n1", wire) is BindOutcome.BOUND
    assert wire.calls.count("Binding") == 2


def test_returns_contended_if_the_pod_changes_at_three_attempts() -> None:
    world = world_with({LICENCE: "2"})
    touch = {at: lambda: world.pods.change(POD, annotations={}) for at in range(99)}
    wire = Wire(before=touch)
    assert world.bind(POD, UID, "n1", wire) is BindOutcome.CONTENDED
    assert wire.calls.count("Binding") == 3


def test_keeps_reservation_if_the_binding_is_refused_after_a_takeover() -> None:
    """The Binding of the previous attempt may still arrive."""
    world = world_with({LICENCE: "2"})
    late = Wire({3: Fault.LATE, **dict.fromkeys(range(4, 9), Fault.DIES_BEFORE)})
    world.bind(POD, UID, "n1", late)
    world.pods.refuse_bindings = 1
    assert world.bind(POD, UID, "n1") is BindOutcome.REFUSED
    late.deliver()
    assert (UID, "n1") in world.pods.ever_bound
    world.recover()
    world.assert_consistent()


def test_returns_ledger_unavailable_if_the_table_does_not_respond() -> None:
    world = world_with({LICENCE: "2"})
    wire = Wire(dict.fromkeys(range(1, 9), Fault.UNSENT))
    assert world.bind(POD, UID, "n1", wire) is BindOutcome.LEDGER_UNAVAILABLE
    assert "Binding" not in wire.calls
