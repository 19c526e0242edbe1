"""A document that changes how a resource is counted while pods hold it: nothing is given away twice."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger
from berth.scheduling.managed_resources.configuration import ManagedResource, resource_of
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.objects import Pod, read_pod
from tests.fakes.counted_cluster import PERCENT, REQUEST, SEAT, SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

UNITS = 20
"""Slots without devices. With devices there are two of so many slots."""
EXPIRY = 40.0

DEVICES = {"sizes": {"nodeLabel": "sizes"}}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "allocatable": {"name": SLOT},
    "devices": {"name": SLOT, "devices": DEVICES},
    "packed devices with percentages": {
        "name": SLOT,
        "devices": {**DEVICES, "percentName": PERCENT, "packing": "best-fit"},
    },
    "annotation": {"name": SLOT, "requests": {"podAnnotation": REQUEST}},
    "devices by annotation": {"name": SLOT, "devices": DEVICES, "requests": {"podAnnotation": REQUEST}},
    "pod limit": {"name": SLOT, "podLimit": 5},
    "capacity of another name": {
        "name": SEAT,
        "capacity": {"allocatable": SLOT},
        "requests": {"podAnnotation": REQUEST},
    },
    "another resource": {"name": "example.com/other"},
}


def counting_of(document: str) -> Counting:
    return Counting((ManagedResource.model_validate(DOCUMENTS[document]),))


class Documents:
    """A node, and pods of 5 that are bound by one document after another."""

    def __init__(self) -> None:
        self.harness = ReconcilerHarness()
        self.harness.node(UNITS)
        self.harness.publish()
        self.annotations: dict[str, Mapping[str, str]] = {}

    def lead(self, document: str) -> None:
        self.counting = self.harness._counting = counting_of(document)
        self.leader = self.harness.lead()
        self.harness.run(self.leader, 1)

    def reserve(self, name: str) -> bool:
        """What bind does before its Binding: False if the ledger does not have the room."""
        key = self.harness.cluster.create_pod(name, 5)
        self.harness.publish(self.leader)
        pod = read_pod(self.harness.cluster.pods[name].content())
        assert isinstance(pod, Pod)
        demands = self.counting.demands(pod)
        assert isinstance(demands, tuple)
        ledger = self.harness.table.node(NODE)
        if not demands or ledger is None or ledger.avail is None:
            return False
        shares = self.counting.choose(demands, ledger.capacity, ledger.avail)
        if isinstance(shares, Insufficient):
            return False
        attempt, now = f"attempt-{name}", self.harness.clock.now
        self.harness.table.put_open(OpenReservation(key, NODE, attempt, shares, now))
        assert Ledger(self.harness.table).reserve(NODE, Entry(key, EntryState.RESERVED, attempt, shares, now)).done
        self.annotations[name] = self.counting.annotations(shares)
        return True

    def bind(self, name: str) -> None:
        """Bind what is reserved; the API server refuses the Binding if the watcher has expired the reservation."""
        pod = self.harness.cluster.pods[name]
        if pod.key.uid in self.harness.ledger().entries:
            pod.annotations |= self.annotations[name]
            self.harness.cluster.place(name, NODE)

    def run_pod(self, name: str) -> None:
        """Bind a pod by the document, or beside it if it does not count what the pod requests."""
        if self.reserve(name):
            self.bind(name)
        else:
            self.harness.cluster.place(name, NODE)

    def bind_until_full(self, prefix: str) -> None:
        for number in range(12):
            if self.reserve(f"{prefix}-{number}"):
                self.bind(f"{prefix}-{number}")
        self.publish()

    def publish(self) -> None:
        self.harness.publish(self.leader)
        self.harness.run(self.leader, 3)

    @property
    def demanded(self) -> int:
        """Return the running pods' requests for the resources that are counted now."""
        found = [read_pod(pod.content()) for pod in self.harness.cluster.pods.values() if pod.node]
        demands = [self.counting.demands(pod) for pod in found if isinstance(pod, Pod)]
        return sum(demand.amount for each in demands if isinstance(each, tuple) for demand in each)

    @property
    def held(self) -> int:
        """Return the amounts that the entries hold of the resources that are counted now."""
        found = self.harness.table.node(NODE)
        pools = [] if found is None else [each.shares for each in found.entries.values()]
        return sum(
            units for shares in pools for pool, units in shares.items() if resource_of(pool) in self.counting.resources
        )

    @property
    def capacity(self) -> int:
        found = self.harness.table.node(NODE)
        return 0 if found is None else sum(found.capacity.values())


@pytest.mark.parametrize(("before", "after"), list(permutations(DOCUMENTS, 2)))
def test_amounts_of_running_pods_stay_counted(before: str, after: str) -> None:
    documents = Documents()
    documents.lead(before)
    for name in ("a", "b"):
        documents.run_pod(name)
    documents.publish()
    for turn, document in enumerate((after, before, after)):
        documents.lead(document)
        at_change = documents.demanded
        documents.bind_until_full(f"turn-{turn}")
        assert documents.demanded <= max(documents.capacity, at_change), documents.harness.ledger()
        assert documents.held >= documents.demanded, documents.harness.ledger()


@pytest.mark.parametrize(("before", "after"), list(permutations(DOCUMENTS, 2)))
def test_amounts_reserved_during_the_change_stay_counted(before: str, after: str) -> None:
    documents = Documents()
    documents.lead(before)
    under_way = [name for name in ("a", "b") if documents.reserve(name)]
    documents.harness.clock.advance(0.1)
    documents.lead(after)
    documents.bind_until_full("new")
    for name in under_way:
        documents.bind(name)
    documents.publish()
    documents.bind_until_full("newer")
    assert documents.demanded <= max(documents.capacity, 10), documents.harness.ledger()
    assert documents.held >= documents.demanded, documents.harness.ledger()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_releases_amounts_reserved_during_the_change(document: str) -> None:
    documents = Documents()
    documents.lead("allocatable")
    documents.reserve("a")
    documents.lead(document)
    documents.harness.run(documents.leader, EXPIRY)
    if document != "another resource":
        assert documents.capacity == sum(documents.harness.ledger().avail.values()) > 0  # type: ignore[union-attr]
