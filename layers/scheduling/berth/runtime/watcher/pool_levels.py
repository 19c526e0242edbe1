"""The leader's metrics of floating pools: how full they are, and how many pods wait for them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.leader import Publication
from berth.runtime.adapters import log
from berth.runtime.telemetry.metrics import COUNT, Metrics, group
from berth.scheduling.fields.reading import part
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import WAITS_FOR_POOL

INTERVAL_SECONDS = 60.0

MAX_POOLS = 20
"""Maximum number of pools: each costs three metrics, and users of the cluster determine the number of namespaces."""

POOL = "pool"
METRICS = "PoolCapacity", "PoolHeld", "PoolWaiting"
LEVELS = group([[POOL]], dict.fromkeys(METRICS, COUNT))


class PoolLevels:
    """Measures floating pools in one leadership: of the cluster, of nodes' labels, and of namespaces with waiting pods.
    One thread calls `published`, another one `step`."""

    def __init__(self, counting: Counting, table: LedgerTable, metrics: Metrics, wall: Callable[[], float]) -> None:
        """Prepare the metrics. wall: returns the seconds since the epoch."""
        self._counting, self._table, self._metrics, self._wall = counting, table, metrics, wall
        self._lock = Lock()
        self._waiting: dict[str, Object] = {}
        self._of_nodes: dict[str, frozenset[str]] = {}
        self._is_new = True

    def published(self, publication: Publication) -> None:
        changes = publication.changes
        if self._is_new:
            self._is_new, changes = False, [Change(*key, obj) for key, obj in publication.objects.items()]
        with self._lock:
            for resource, key, obj in changes:
                if resource == "pods":
                    self._waiting.pop(key, None)
                    if obj is not None and obj.get(WAITS_FOR_POOL) is True:
                        self._waiting[key] = obj
                elif resource == "nodes":
                    labels = part(part(obj or {}, "metadata"), "labels")
                    texts = {name: value for name, value in labels.items() if isinstance(value, str)}
                    self._of_nodes[key] = self._counting.floating.of_labels(texts)

    def step(self) -> float:
        """Measure the MAX_POOLS pools with the most waiting pods. Return the seconds until the next measurement."""
        with self._lock:
            objects = list(self._waiting.values())
            of_labels = frozenset[str]().union(*self._of_nodes.values())
        pods = (pod for pod in map(PodReader().read, objects) if isinstance(pod, Pod))
        levels = self._counting.floating.waiting(pods, of_labels)
        try:
            for pool, number in sorted(levels.items(), key=lambda each: (-each[1], each[0]))[:MAX_POOLS]:
                if (ledger := self._table.node(pool)) is not None:
                    found = float(ledger.capacity.get(pool, 0)), float(ledger.allocated(pool)), float(number)
                    values = {name: [value] for name, value in zip(METRICS, found, strict=True)}
                    self._metrics.emit([LEVELS], {POOL: pool}, values, self._wall())
        except TableUnavailable as error:
            log.warning("pools: %s", error)
        return INTERVAL_SECONDS
