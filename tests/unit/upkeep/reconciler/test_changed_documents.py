"""A document that changes how a resource is counted while pods hold it: no amount is allocated twice."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from berth.bind.share import Request, Reservations
from berth.extender.outcomes import BindOutcome, BindResult
from berth.pods import Binding
from berth.scheduling.managed_resources.configuration import NODE as NODE_SCOPE
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import NoDomain
from berth.scheduling.managed_resources.pools import resource_of
from berth.scheduling.objects import Pod, read_pod
from tests.fakes.counted_cluster import NAMESPACE, PERCENT, REQUEST, SEAT, SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

UNITS = 20
"""Slots of a node without devices, or of each of the two devices of a node with devices."""
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
    "cluster": {"name": SLOT, "capacity": {"value": UNITS, "scope": "cluster"}},
    "limit of the namespace": {"name": SLOT, "perNamespace": UNITS},
    "another resource": {"name": "example.com/other"},
}


def counting_of(document: str) -> Counting:
    return Counting((ManagedResource.model_validate(DOCUMENTS[document]),))


class Documents:
    """A node, and pods that each request 5 slots and are bound under one document after another."""

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
        """Run the steps of a bind before its Binding. Return False if nothing was reserved."""
        key = self.harness.cluster.create_pod(name, 5)
        self.harness.publish(self.leader)
        pod = read_pod(self.harness.cluster.pods[name].content())
        assert isinstance(pod, Pod)
        demands = self.counting.demands(pod)
        assert isinstance(demands, tuple)
        if not demands:
            return False
        reservations = Reservations(self.harness.table, lambda: f"attempt-{name}", self.harness.clock, call_seconds=0.0)
        floating = self.counting.floating.shares(demands, key.namespace, {})
        assert not isinstance(floating, NoDomain)
        binding, request = Binding(key.namespace, name, key.uid, NODE), Request(demands, floating)
        found = reservations.reserve(binding, request, self.counting, lambda: HTTP_TIMEOUT)
        if isinstance(found, BindResult):
            assert found.outcome in (BindOutcome.INSUFFICIENT, BindOutcome.NO_LEDGER)
            return False
        self.annotations[name] = found.annotations
        return True

    def bind(self, name: str) -> None:
        """Bind a reserved pod; the API server refuses the Binding if the watcher has expired the reservation."""
        pod = self.harness.cluster.pods[name]
        if any(pod.key.uid in ledger.entries for ledger in self.harness.table.nodes()):
            pod.annotations |= self.annotations[name]
            self.harness.cluster.place(name, NODE)

    def run_pod(self, name: str) -> None:
        """Bind a pod with a reservation, or without a reservation if the pod cannot reserve under the document."""
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
    def owners(self) -> list[str]:
        """Return the owners that count the pods' resource now."""
        [resource] = self.counting.resources
        on_node = [NODE] if self.counting.floating.scope(Demand(resource, 1)) == NODE_SCOPE else []
        return [*on_node, *self.counting.floating.of((resource,), NAMESPACE, {})]

    def held(self, owner: str) -> int:
        """Return the amounts that the owner's entries hold of the resources that are counted now."""
        found = self.harness.table.node(owner)
        pools = [] if found is None else [each.shares for each in found.entries.values()]
        return sum(
            units for shares in pools for pool, units in shares.items() if resource_of(pool) in self.counting.resources
        )

    def capacity(self, owner: str) -> int:
        found = self.harness.table.node(owner)
        return 0 if found is None else sum(found.capacity.values())

    def assert_counted(self, before: int) -> None:
        """Assert that every owner counts all running pods, and that their requests are at most its capacity, or
        `before`, the amount of earlier pods, if that is larger."""
        for owner in self.owners:
            found = self.harness.table.node(owner)
            assert self.demanded <= max(self.capacity(owner), before), found
            assert self.held(owner) >= self.demanded, found


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
        documents.assert_counted(at_change)


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
    documents.assert_counted(10)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_releases_amounts_reserved_during_the_change(document: str) -> None:
    documents = Documents()
    documents.lead("allocatable")
    documents.reserve("a")
    documents.lead(document)
    documents.harness.run(documents.leader, EXPIRY)
    if document != "another resource":
        for owner in documents.owners:
            assert documents.harness.ledger(owner).avail == documents.harness.ledger(owner).capacity != {}
