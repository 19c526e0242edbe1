"""The charge of a pod whose creator set `spec.nodeName`: at most what one pod can have."""

from __future__ import annotations

import pytest

from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.fakes.counted_cluster import SLOT
from tests.unit.upkeep.reconciler.counted_pods import bound, by_annotation, shares_of
from tests.unit.upkeep.reconciler.reconciler_harness import ReconcilerHarness


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
    """A pod whose creator set spec.nodeName."""
    key = harness.place("forged", units)
    harness.publish(leader, seconds=1)
    return key
