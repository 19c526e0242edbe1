"""What the pods of a cluster hold, from the cluster itself: the ledger that a `berth serve` builds when it starts.

Reads nodes, pods and the ledger's Lease. A bind that is in progress is in no pod yet, and therefore not in here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from berth.cluster.api_server.client import ApiServer
from berth.cluster.api_server.kubeconfig import from_file
from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.kubernetes_ledger_lease import KubernetesLedgerLease
from berth.cluster.watch.kubernetes_lister_watcher import KubernetesListerWatcher, WatchOptions
from berth.cluster.watch.resources import NODES, PODS
from berth.lease.lock import Unavailable
from berth.nodecache.decoded import DecodedObjects
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.observed_state import key_of
from berth.reservations.ledger.entry import NodeLedger
from berth.reservations.ledger.ledger import new_ledger
from berth.reservations.reconciler.published_pods import PublishedPods
from berth.scheduling.managed_resources.counting import Counting

if TYPE_CHECKING:
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth.scheduling.objects import NodeInfo, Pod

CALL_SECONDS = 10.0
READ_FROM_POD = "pod"
"""In place of a bind's attempt: without one an entry is of a pod that the watcher has found on the node."""


@dataclass(frozen=True, slots=True)
class ClusterReservations:
    """`holder`: the identity in the Lease; empty: nobody counts."""

    ledgers: list[NodeLedger]
    holder: str


def reservations_in(path: Path, configuration: BerthConfiguration, clock: Callable[[], float]) -> ClusterReservations:
    """Read the cluster of a kubeconfig. `clock`: seconds since the epoch. Raises ClusterUnavailable."""
    api = ApiServer(from_file(path), clock)
    kept = projections(RequiredFields.of(configuration.policy()))
    decoded = DecodedObjects(
        change
        for resource in (NODES, PODS)
        for change in _listed(KubernetesListerWatcher(api, resource, WatchOptions(), kept[resource]))
    )
    held = ledgers(configuration.counting, decoded.nodes.found, decoded.pods.found, clock())
    holding = KubernetesLedgerLease(api).holding(CALL_SECONDS)
    if isinstance(holding, Unavailable):
        raise ClusterUnavailable(f"the Lease of the ledger cannot be read: {holding.reason}")
    return ClusterReservations(held, "" if holding is None else holding.holder)


def ledgers(
    counting: Counting, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None], now: float
) -> list[NodeLedger]:
    """The ledgers of nodes with a counted resource, or with a pod that requests one. `now`: seconds since the epoch."""
    published = PublishedPods(counting)
    published.update(nodes, pods)
    started = {pod.uid: pod.start_time for pod in pods.values() if pod is not None and pod.start_time is not None}
    found = []
    for node in sorted(published.nodes):
        entries = published.entries(node, None, now)
        aged = {
            uid: replace(entry, since=started.get(uid, now), attempt=READ_FROM_POD) for uid, entry in entries.items()
        }
        found.append(new_ledger(node, published.capacity(node), aged, 0))
    return found


def _listed(lister: KubernetesListerWatcher) -> Iterator[Change]:
    for each in lister.list_all().objects:
        name = key_of(each)
        if name is not None:
            yield Change(lister.resource, name, each)
