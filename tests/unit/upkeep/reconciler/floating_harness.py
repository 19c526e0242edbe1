"""Ledgers of floating pools, with a published cluster, its pods and a leader."""

from __future__ import annotations

import pytest

from berth.ledger.nodes.entry import EntryState
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import cluster_pool, label_pool, namespace_pool
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import (
    FLOATING_SLOTS,
    FLOATING_SLOTS_AND_SEATS,
    LIMITED_SLOTS,
    NAMESPACE,
    SEAT,
    SLOT,
    SLOTS_AND_FLOATING_SEATS,
    SLOTS_OF_ZONES,
    ZONE,
)
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

BOUND, RESERVED = EntryState.BOUND, EntryState.RESERVED
EXPIRY = 30.0
OTHER = "node-b"
EARLY = "a-node"
"""A node whose ledger is reconciled before the ledgers of floating pools, because the order is by name."""

SLOTS, SEATS = cluster_pool(SLOT), cluster_pool(SEAT)
IN_A, IN_B = label_pool(SLOT, ZONE, "a"), label_pool(SLOT, ZONE, "b")
OF_ML, OF_OTHER = namespace_pool(SLOT, NAMESPACE), namespace_pool(SLOT, "other")


KINDS = {
    "seats": SLOTS_AND_FLOATING_SEATS,
    "slots": FLOATING_SLOTS,
    "slots and seats": FLOATING_SLOTS_AND_SEATS,
    "limit": LIMITED_SLOTS,
    "zones": SLOTS_OF_ZONES,
}


def kinds(*names: str) -> list[object]:
    """Return these configurations as parameters."""
    return [pytest.param(KINDS[name], id=name) for name in names]


class CheckedTable(InMemoryLedgerTable):
    """Checks that no open reservation is deleted before the reserved entries of its attempt, except entries in ledgers
    that are being rebuilt: the rebuild replaces these ledgers."""

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        key = uid, node, attempt
        opened = [each for each in self.open_reservations() if (each.pod.uid, each.node, each.attempt) == key]
        ledgers = [self.node(owner) for each in opened for owner in each.owners]
        for ledger in ledgers:
            entry = None if ledger is None or ledger.avail is None else ledger.entries.get(uid)
            if ledger is not None and entry is not None and entry.attempt == attempt:
                assert entry.state is BOUND, f"the reserved entry in {ledger.owner} has no open reservation any more"
        super().delete_open(uid, node, attempt)


def harness_of(counting: Counting, *nodes: str, units: int = 8) -> tuple[ReconcilerHarness, Reconciler]:
    """Return a harness with published nodes, by default two, and their ledgers; and a leader."""
    harness = ReconcilerHarness(counting=counting, table=CheckedTable())
    for name in nodes or (NODE, OTHER):
        harness.node(units, name)
    return harness, led(harness)


def led(harness: ReconcilerHarness, seconds: float = 1.0) -> Reconciler:
    """Return a new leader that knows all published objects, after it has worked for this many seconds."""
    harness.publish()
    leader = harness.lead()
    harness.run(leader, seconds)
    harness.happened()
    return leader


def publish(harness: ReconcilerHarness, leader: Reconciler, seconds: float = 3.0) -> None:
    harness.publish(leader, seconds=seconds)


def bind(harness: ReconcilerHarness, leader: Reconciler, name: str, node: str = NODE, units: int = 2) -> PodKey:
    """Bind a new pod as Berth does, and publish it."""
    key = harness.cluster.create_pod(name, units)
    harness.reserve(key, units, node)
    harness.cluster.place(name, node)
    publish(harness, leader)
    harness.happened()
    return key


def owners(harness: ReconcilerHarness) -> list[str]:
    """Return the owners that have a ledger."""
    return [ledger.owner for ledger in harness.table.nodes()]


def zones(**by_node: str) -> tuple[ReconcilerHarness, Reconciler]:
    """Return a harness and a leader. by_node: zones by the last letter of a node's name; node-z is not in a zone."""
    harness = ReconcilerHarness(counting=SLOTS_OF_ZONES, table=CheckedTable())
    for letter, zone in by_node.items():
        harness.node(8, f"node-{letter}")
        harness.cluster.zones[f"node-{letter}"] = zone
    harness.node(8, "node-z")
    return harness, led(harness)


def remove_node(harness: ReconcilerHarness, name: str) -> None:
    del harness.cluster.nodes[name]


def reserved(harness: ReconcilerHarness, leader: Reconciler, name: str = "a", units: int = 2) -> PodKey:
    """Reserve for a pod that is published; its bind ends before its Binding."""
    key = harness.cluster.create_pod(name, units)
    publish(harness, leader)
    harness.reserve(key, units)
    harness.happened()
    return key
