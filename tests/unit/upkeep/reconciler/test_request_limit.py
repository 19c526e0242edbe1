"""The charge of a pod whose creator set `spec.nodeName` is at most the amount that one pod can have."""

from __future__ import annotations

import pytest

from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.fakes.counted_cluster import BY_ANNOTATION, DEVICE, FIRST, REQUEST, SECOND, SLOT
from tests.unit.upkeep.reconciler.counted_pods import EXPIRY, bound, by_annotation, reserved, shares_of, with_ledger
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness


def test_charges_a_pod_bound_by_others_at_most_the_nodes_capacity() -> None:
    harness = by_annotation()
    leader = harness.lead()
    berths = bound(harness, leader, "a", 6)
    key = forged(harness, leader, 10**15)

    assert shares_of(harness, key) == {SLOT: 8}
    assert harness.ledger().owed == {SLOT: 6}

    harness.cluster.delete("a")
    harness.cluster.delete("forged")
    harness.publish(leader, seconds=1)
    assert shares_of(harness, berths) is None
    assert harness.ledger().avail == {SLOT: 8}


@pytest.mark.parametrize("new_leader", [False, True])
def test_charges_more_of_an_oversized_pod_when_the_node_grows(new_leader: bool) -> None:
    harness = by_annotation(2)
    leader = harness.lead()
    bound(harness, leader, "a", 1)
    key = forged(harness, leader, 6)
    assert shares_of(harness, key) == {SLOT: 2}

    harness.node(4)
    harness.publish(leader)
    if new_leader:
        leader = harness.lead()
    harness.run(leader, 1)
    assert shares_of(harness, key) == {SLOT: 4}
    harness.node(9)
    harness.publish(leader, seconds=1)
    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.ledger().avail == {SLOT: 2}


def test_charges_an_oversized_pod_when_the_node_has_the_resource_again() -> None:
    harness = by_annotation()
    leader = harness.lead()
    harness.node(0)
    harness.publish(leader, seconds=1)
    key = forged(harness, leader, 6)

    harness.node(8)
    harness.publish(leader, seconds=1)

    assert shares_of(harness, key) == {SLOT: 6}


def test_keeps_whole_amount_of_a_reserved_pod_when_the_node_shrinks() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6)

    harness.node(2)
    harness.publish(leader, seconds=1)
    harness.run(harness.lead(), 1)

    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.ledger().owed == {SLOT: 4}
    assert ReservationEventType.BEYOND_LIMIT not in harness.happened()


def test_reports_oversized_pod_again_only_after_a_change_of_amount_or_leader() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = forged(harness, leader, 10**15)
    for units in (8, 8, 9):
        harness.node(units)
        harness.publish(leader, seconds=1)
    harness.run(harness.lead(), 1)

    found = [event for event in harness.events if event.type is ReservationEventType.BEYOND_LIMIT]
    text = "beyond-limit on node-a: ml/forged: {0} {1}: the pod requests more than a pod is charged: {0} {1}"
    assert [str(event) for event in found] == [text.format(SLOT, units) for units in (8, 9, 9)]
    assert {event.uid for event in found} == {key.uid}
    assert ReservationEventType.DIVERGED not in harness.happened()


def forged(harness: ReconcilerHarness, leader: Reconciler, units: int) -> PodKey:
    """Publish a pod whose creator set spec.nodeName."""
    key = harness.place("forged", units)
    harness.publish(leader, seconds=1)
    return key


# A pod bound by others with one unreadable request is charged for all its other requests.

SEAT = "example.com/seat"
SEATS_AND_DEVICES = Counting(
    map(
        ManagedResource.model_validate,
        (
            {"name": SLOT, "devices": {"sizes": {"nodeLabel": "sizes"}}},
            {"name": SEAT, "capacity": {"allocatable": SLOT}, "requests": {"podAnnotation": REQUEST}},
        ),
    )
)
"""Slots of two devices, which containers request, and seats, which pods request by an annotation."""
UNREADABLE = [
    pytest.param("three", id="not a number"),
    pytest.param("-1", id="negative"),
    pytest.param("9" * 18, id="above 10^15"),
    pytest.param("1e30", id="beyond 64 bits"),
    pytest.param("", id="empty"),
]


@pytest.mark.parametrize("value", UNREADABLE)
def test_charges_readable_requests_of_a_pod_bound_by_others(value: str) -> None:
    harness = with_ledger(ReconcilerHarness(counting=SEATS_AND_DEVICES), 8)
    leader = harness.lead()
    key = placed(harness, leader, value)

    assert shares_of(harness, key) == {SECOND: 6}
    assert harness.ledger().avail == {FIRST: 8, SECOND: 2, SEAT: 8}


def test_reports_request_that_is_not_charged() -> None:
    harness = with_ledger(ReconcilerHarness(counting=SEATS_AND_DEVICES), 8)
    leader = harness.lead()
    placed(harness, leader, "three")

    found = [str(event) for event in harness.events if event.type is ReservationEventType.BEYOND_LIMIT]
    assert found == [
        f"beyond-limit on node-a: ml/hidden: {SECOND} 6: the pod requests more than a pod is charged: {SEAT} 0"
    ]
    assert ReservationEventType.DIVERGED not in harness.happened()


def test_reports_uncharged_pod_once_per_leadership() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = placed(harness, leader, "three")
    harness.node(9)
    harness.publish(leader, seconds=1)
    harness.run(harness.lead(), 1)

    assert shares_of(harness, key) is None
    found = [event for event in harness.events if event.type is ReservationEventType.BEYOND_LIMIT]
    text = f"beyond-limit on node-a: ml/hidden: the pod requests more than a pod is charged: {SLOT} 0"
    assert [str(event) for event in found] == [text] * 2
    assert {event.uid for event in found} == {key.uid}


def test_charges_pod_once_its_only_request_becomes_readable() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = placed(harness, leader, "three")

    harness.cluster.annotate("hidden", REQUEST, "3")
    harness.publish(leader, seconds=1)

    assert shares_of(harness, key) == {SLOT: 3}


@pytest.mark.parametrize(
    "attempt", [pytest.param(True, id="bound by Berth"), pytest.param(False, id="bound by others")]
)
def test_keeps_the_counted_amount_if_the_annotation_becomes_unreadable(attempt: bool) -> None:
    harness = with_ledger(ReconcilerHarness(counting=SEATS_AND_DEVICES), 8)
    leader = harness.lead(seconds=1)
    held = {SECOND: 6, SEAT: 6}
    key = reserved(harness, "hidden", 6, held) if attempt else harness.cluster.create_pod("hidden", 6)
    place(harness, leader)
    assert shares_of(harness, key) == held
    harness.happened()

    harness.cluster.annotate("hidden", REQUEST, "three")
    harness.publish(leader, seconds=1)
    diverged = [str(event) for event in harness.events]
    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == held
    assert diverged == [f"diverged on node-a: ml/hidden: {SEAT} 6, {SECOND} 6: the pod now claims {SECOND} 6"]


def test_reports_an_uncharged_pod_again_after_it_is_recreated() -> None:
    harness = with_ledger(ReconcilerHarness(counting=BY_ANNOTATION), 8)
    leader = harness.lead()
    placed(harness, leader, "three")
    harness.cluster.delete("hidden")
    harness.publish(leader, seconds=1)
    harness.happened()

    placed(harness, leader, "three")

    assert harness.happened() == [ReservationEventType.BEYOND_LIMIT]


def placed(harness: ReconcilerHarness, leader: Reconciler, value: str) -> PodKey:
    """Publish a pod whose creator set spec.nodeName, with this value as its request annotation."""
    key = harness.cluster.create_pod("hidden", 6)
    harness.cluster.annotate("hidden", REQUEST, value)
    place(harness, leader)
    return key


def place(harness: ReconcilerHarness, leader: Reconciler) -> None:
    """Place the pod on the second device and publish it."""
    harness.cluster.annotate("hidden", DEVICE, "1")
    harness.cluster.place("hidden", NODE)
    harness.publish(leader, seconds=1)
