"""Nodes with a ledger, and pods that Berth or others bound there."""

from __future__ import annotations

from berth.ledger.nodes.entry import EntryState
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.fakes.counted_cluster import BY_ANNOTATION, BY_DEVICE, DEVICE, SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

EXPIRY = 30.0


def by_device(units: int = 8) -> ReconcilerHarness:
    """Return a harness with a node that has two devices of `units` slots each, and its ledger."""
    return with_ledger(ReconcilerHarness(counting=BY_DEVICE), units)


def by_annotation(units: int = 8) -> ReconcilerHarness:
    """Return a harness with a node of `units` slots, which pods request by an annotation, and its ledger."""
    return with_ledger(ReconcilerHarness(counting=BY_ANNOTATION), units)


def with_ledger(harness: ReconcilerHarness, units: int) -> ReconcilerHarness:
    harness.node(units)
    harness.publish()
    harness.run(harness.lead(), 1)
    harness.happened()
    return harness


def bound(harness: ReconcilerHarness, leader: Reconciler, name: str, units: int, pool: str = SLOT) -> PodKey:
    """Reserve for a new pod, bind it and publish it."""
    key = reserved(harness, name, units, {pool: units})
    harness.cluster.place(name, NODE)
    if pool != SLOT:
        harness.cluster.annotate(name, DEVICE, pool.partition("#")[2])
    harness.publish(leader, seconds=1)
    assert harness.states()[name] is EntryState.BOUND
    harness.happened()
    return key


def reserved(harness: ReconcilerHarness, name: str, units: int, shares: dict[str, int]) -> PodKey:
    """Reserve for a new pod."""
    key = harness.cluster.create_pod(name, units)
    harness.reserve_shares(key, shares)
    return key


def shares_of(harness: ReconcilerHarness, pod: PodKey) -> dict[str, int] | None:
    entry = harness.ledger().entries.get(pod.uid)
    return None if entry is None else dict(entry.shares)
