"""Bound amounts stay counted: owners of pods cannot release or move them by annotations."""

from __future__ import annotations

import pytest

from berth.ledger.nodes.entry import EntryState
from berth.upkeep.reconciler.events import ReservationEventType
from tests.fakes.counted_cluster import BY_DEVICE, DEVICE, FIRST, REQUEST, SECOND, SLOT
from tests.unit.upkeep.reconciler.counted_pods import (
    EXPIRY,
    bound,
    by_annotation,
    by_device,
    reserved,
    shares_of,
    with_ledger,
)
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("200", id="a device that the node does not have"),
        pytest.param("1", id="the device of another pod"),
        pytest.param(None, id="removed"),
        pytest.param("none", id="not a number"),
    ],
)
def test_keeps_device_of_a_bound_pod_if_its_annotation_changes(value: str | None) -> None:
    harness = by_device()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6, FIRST)
    bound(harness, leader, "b", 6, SECOND)

    harness.cluster.annotate("a", DEVICE, value)
    harness.publish(leader, seconds=1)
    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == {FIRST: 6}
    assert harness.ledger().avail == {FIRST: 2, SECOND: 2}


@pytest.mark.parametrize("value", [None, "1", "100", "-"])
def test_keeps_amount_of_a_bound_pod_if_its_annotation_changes(value: str | None) -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6)

    harness.cluster.annotate("a", REQUEST, value)
    harness.publish(leader, seconds=1)
    assert shares_of(harness, key) == {SLOT: 6}
    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.ledger().owed == {}


@pytest.mark.parametrize("value", [None, "1"])
def test_confirms_the_reserved_amount_if_annotation_changes_before_publication(value: str | None) -> None:
    harness = by_annotation()
    leader = harness.lead(seconds=1)
    key = reserved(harness, "a", 6, {SLOT: 6})
    harness.cluster.place("a", NODE)
    harness.cluster.annotate("a", REQUEST, value)

    harness.publish(leader, seconds=EXPIRY + 5)
    harness.publish(leader, seconds=2 * EXPIRY)

    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.table.open_reservations() == []


def test_reports_divergence_once_per_change() -> None:
    harness = by_device()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6, FIRST)

    for value in ("200", "200", "1", None, "0"):
        harness.cluster.annotate("a", DEVICE, value)
        harness.publish(leader, seconds=1)
        harness.node(9)
        harness.publish(leader, seconds=1)

    found = [str(event) for event in harness.events if event.type is ReservationEventType.DIVERGED]
    assert found == [
        f"diverged on node-a: ml/a: {FIRST} 6: the pod now claims {SLOT}#200 6",
        f"diverged on node-a: ml/a: {FIRST} 6: the pod now claims {SECOND} 6",
        f"diverged on node-a: ml/a: {FIRST} 6: the pod now claims nothing",
    ]
    assert {event.uid for event in harness.events if event.type is ReservationEventType.DIVERGED} == {key.uid}


@pytest.mark.parametrize("index", ["200", "1"])
def test_charges_the_fullest_device_if_a_new_pod_names_a_device_without_room(index: str) -> None:
    harness = by_device()
    leader = harness.lead()
    bound(harness, leader, "a", 3, FIRST)
    bound(harness, leader, "b", 6, SECOND)
    key = harness.cluster.create_pod("forged", 4)
    harness.cluster.annotate("forged", DEVICE, index)
    harness.cluster.place("forged", NODE)

    harness.publish(leader, seconds=1)

    assert shares_of(harness, key) == {SECOND: 4}
    assert harness.ledger().avail == {FIRST: 5}
    assert (ReservationEventType.DIVERGED in harness.happened()) is (index == "200")


@pytest.mark.parametrize("device", ["0", "1", "200", None])
def test_confirms_both_reserved_devices_for_any_annotation(device: str | None) -> None:
    """Only bind knows which Binding was created (see `Reservations.release_surplus`)."""
    harness = by_device()
    leader = harness.lead(seconds=1)
    key = reserved(harness, "a", 6, {FIRST: 6, SECOND: 6})
    harness.cluster.place("a", NODE)
    harness.cluster.annotate("a", DEVICE, device)

    harness.publish(leader, seconds=1)

    assert shares_of(harness, key) == {FIRST: 6, SECOND: 6}
    assert harness.states() == {"a": EntryState.BOUND}
    assert ReservationEventType.DIVERGED in harness.happened()


@pytest.mark.parametrize(
    ("size", "held"),
    [
        pytest.param(16, 8, id="a larger device"),
        pytest.param(4, 2, id="a smaller device"),
        pytest.param(0, 4, id="no device"),
    ],
)
def test_percentage_depends_only_on_the_size_of_its_own_device(size: int, held: int) -> None:
    harness = with_ledger(ReconcilerHarness(counting=BY_DEVICE), 8)
    harness.cluster.by_percent = True
    leader = harness.lead(seconds=1)
    key = reserved(harness, "a", 50, {SECOND: 4})
    harness.cluster.place("a", NODE)
    harness.cluster.annotate("a", DEVICE, "0")
    harness.publish(leader, seconds=1)
    assert shares_of(harness, key) == {SECOND: 4}

    harness.node(size)
    harness.publish(leader, seconds=1)

    assert shares_of(harness, key) == {SECOND: held}
    assert ReservationEventType.DIVERGED in harness.happened()
