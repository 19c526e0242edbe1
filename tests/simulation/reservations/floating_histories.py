"""Histories with floating pools: a pod's shares are counted on its node and in every pool, or only in pools.

Two nodes share the pools, so binds of a pod to both nodes use the same entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from berth.ledger.nodes.entry import EntryState
from berth.ledger.nodes.table import MarkerState
from berth.scheduling.managed_resources.configuration import NODE as NODE_SCOPE
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import NoDomain
from berth.scheduling.managed_resources.pools import Shares, by_owner, is_floating
from berth.scheduling.objects.pod import PodKey
from tests.fakes.counted_cluster import LIMITED_SLOTS, REQUEST, SEAT, SLOT, SLOTS_AND_FLOATING_SEATS
from tests.unit.upkeep.reconciler.reconciler_harness import check

from .ledger_histories import ReservationsHistory

_SCARCE = {"value": 5, "scope": "cluster"}
_SEATS = {"name": SEAT, "capacity": _SCARCE, "requests": {"podAnnotation": REQUEST}, "perNamespace": 4}

KINDS = (
    Counting((ManagedResource.model_validate({"name": SLOT, "capacity": _SCARCE}),)),
    SLOTS_AND_FLOATING_SEATS,
    LIMITED_SLOTS,
    Counting((ManagedResource(name=SLOT), ManagedResource.model_validate(_SEATS))),
)
"""Slots of the cluster alone; slots of nodes with seats of the cluster, with a limit of the namespace, or with both."""


class FloatingHistory(ReservationsHistory):
    """A history whose `run` raises AssertionError if a pool is overcommitted or a running pod has lost its shares."""

    retried = 0.8
    pause = 1.0
    sizes = (3, 5)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.counting = KINDS[seed % len(KINDS)]

    def _shares(self, pod: PodKey, units: int, node: str) -> Mapping[str, Shares]:
        """Return the shares of a pod on the node, by owner."""
        demands = [Demand(resource, units) for resource in self.counting.resources]
        floating = self.counting.floating.shares(demands, pod.namespace, {})
        assert not isinstance(floating, NoDomain)
        on_node = {each.resource: units for each in demands if self.counting.floating.scope(each) == NODE_SCOPE}
        return by_owner({**on_node, **floating}, node)

    # ------------------------------------------------------------------------------------------------------ invariants

    def check(self) -> None:
        """Assert that ledgers add up, have the running pods that Berth bound, and do not overcommit a pool."""
        for ledger in self.table.nodes():
            check(ledger)
        used = Counter[str]()
        for pod in self.cluster.pods.values():
            node = self.berths.get(pod.key.uid)
            if node is None or pod.finished:
                continue
            for owner, shares in self._shares(pod.key, pod.units, node).items():
                used.update({pool: amount for pool, amount in shares.items() if is_floating(pool)})
                found = self.table.node(owner)
                if found is None or found.avail is None:
                    continue
                entry = found.entries.get(pod.key.uid)
                assert entry is not None, f"{pod.key.name} is on {node}, and what it holds of {owner} can be had"
                for pool, amount in shares.items():
                    assert entry.shares.get(pool, 0) >= amount, f"{pod.key.name} holds more of {pool} than is written"
        for pool, amount in used.items():
            assert amount <= self.counting.floating.capacity(pool), f"{pool} was given {amount} times"

    def check_end(self) -> None:
        """Assert that the ledgers have exactly the pods on nodes, and that no bind is under way."""
        there: dict[str, set[str]] = {}
        for pod in self.cluster.pods.values():
            if pod.node and not pod.finished:
                for owner in self._shares(pod.key, pod.units, pod.node):
                    there.setdefault(owner, set()).add(pod.key.uid)
        ledgers = [*self.table.nodes()]
        assert there.keys() <= {ledger.owner for ledger in ledgers}
        for ledger in ledgers:
            placed = there.get(ledger.owner, set())
            assert set(ledger.entries) == placed, f"{ledger.owner} has entries of others than {placed}"
            assert {entry.state for entry in ledger.entries.values()} <= {EntryState.BOUND}
        assert self.table.open_reservations() == [], "a bind is under way for ever"
        marker = self.table.marker()
        assert marker is not None
        assert marker.state is MarkerState.READY
