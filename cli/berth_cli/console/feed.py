"""Serves the cluster to the page. One thread follows the source; requests use its last result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread

import orjson

from berth.scheduling.fields.resources import PODS
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import resource_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.plugins.floating_resources import PoolUse
from berth_cli.console.access import Outcome, Refusal
from berth_cli.console.application import Document, Query
from berth_cli.console.cluster import ClusterSource, NotRead, ObservedCluster


def node_row(node: NodeInfo, counting: Counting) -> dict[str, object]:
    """Convert a node to JSON. `amounts`: the allocatable and the requested amount by resource, cpu in thousandths. A
    counted resource has sums over its devices, in place of the node's resource of that name."""
    requested = node.usage.requested
    amounts = {name: (amount, requested.get(name, 0)) for name, amount in node.allocatable.items()}
    amounts[PODS] = node.allowed_pods, len(node.pods)
    if counting.counts:
        capacity = counting.capacity(node)
        held = _by_resource(counting.used(node.pods, capacity)) if capacity else {}
        amounts |= {name: (amount, held.get(name, 0)) for name, amount in _by_resource(capacity).items()}
    return {
        "name": node.name,
        "states": list(_states(node)),
        "labels": dict(node.labels),
        "taints": [
            f"{each.key}={each.value}:{each.effect}" if each.value else f"{each.key}:{each.effect}"
            for each in node.taints
        ],
        "amounts": amounts,
    }


def pod_row(pod: Pod) -> dict[str, object]:
    """Convert a pod on a node to JSON. Its `controller` is the controller's kind and name, or empty; its `gang` is
    empty if the pod is not in a gang."""
    controller = pod.spec.controller
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "state": "terminating" if pod.terminating else "on its node",
        "priority": pod.spec.priority or 0,
        "controller": "" if controller is None else f"{controller.kind}/{controller.name}",
        "gang": next(iter(gang_names(pod)), ""),
        "requests": dict(pod.spec.requests.placed),
    }


def _states(node: NodeInfo) -> Iterator[str]:
    if node.defect is not None:
        yield "unreadable"  # the scheduler does not place pods there
    if node.ready not in ("", "True"):
        yield "not ready"
    if node.unschedulable:
        yield "unschedulable"


def _by_resource(pools: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pool, amount in pools.items():
        name = resource_of(pool)
        found[name] = found.get(name, 0) + amount
    return found


VERSION = 2
"""The version of the documents. A page of another version reloads itself."""

OBSERVE_SECONDS = 1.0
PAUSE_SECONDS = 1.0
STOP_SECONDS = 3.0

log = logging.getLogger("berth.console")


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of the feed. sequence: the number of the cluster's state; 0 before the first one. max_staleness: the
    age in seconds above which the verbs treat data as stale."""

    sequence: int
    observed_at: float
    problem: str
    max_staleness: float | None = None

    def document(self, now: float) -> dict[str, object]:
        """Return the feed's state with the age of the data instead of a time, because the page's clock may differ."""
        return {
            "sequence": self.sequence,
            "ageSeconds": max(0.0, now - self.observed_at) if self.sequence else None,
            "maxStalenessSeconds": self.max_staleness,
            "problem": self.problem,
        }


class Feed:
    """The current state for all pages. Thread-safe."""

    def __init__(self, source: ClusterSource, wall: Callable[[], float]) -> None:
        """Prepare the feed. `wall`: returns the seconds since the epoch."""
        self._source, self._wall = source, wall
        self._lock = Lock()
        self._condition = Condition(0, 0.0, "nothing was read yet")
        self._observed: ObservedCluster | None = None
        # Encoded once per state for all pages; a node is encoded again only if it changed.
        self._state: tuple[int, bytes] = 0, b""
        self._rows: dict[str, tuple[NodeInfo, orjson.Fragment]] = {}
        self._counting: Counting | None = None
        self._use: PoolUse | None = None
        self._stop = Event()

    @property
    def by_path(self) -> Mapping[str, Document]:
        """The application's documents by path."""
        return {"/api/cluster": self.cluster, "/api/pods": self.pods}

    # The thread that follows the source

    def observe(self, timeout: float = OBSERVE_SECONDS) -> None:
        """Read the source once."""
        found = self._source.observe(timeout)
        if isinstance(found, NotRead):
            self._note(found.reason)
            return
        before, configured = self._observed, found.configured
        is_new = before is None or before.snapshot is not found.snapshot or before.configured is not configured
        with self._lock:
            self._observed = found
            self._condition = Condition(
                self._condition.sequence + is_new,
                found.observed_at,
                found.problem,
                configured.document.node_cache.max_staleness,
            )

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the source in a thread until the block ends."""
        thread = Thread(target=self._follow, name="console-feed", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._source.close()
            thread.join(STOP_SECONDS)

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self.observe()
            except Exception as error:
                # After a defect the page must not look current.
                log.exception("the console cannot read %s", self._source.name)
                self._note(f"the console cannot read it: {type(error).__name__}")
                self._stop.wait(PAUSE_SECONDS)

    def _note(self, problem: str) -> None:
        with self._lock:
            self._condition = replace(self._condition, problem=problem)

    # Methods for requests

    def observed_or_refusal(self) -> ObservedCluster | Refusal:
        """Return the cluster that was read last, or a refusal until the first read has finished."""
        return self._observed or Refusal(503, Outcome.NOT_READY, self._condition.problem)

    def cluster(self, query: Query) -> bytes | Refusal:
        """Return the feed's state and, unless the page has this state, all nodes. The query's `since` is the sequence
        of the page's state."""
        with self._lock:
            condition, observed = self._condition, self._observed
            if observed is None:
                return Refusal(503, Outcome.NOT_READY, condition.problem)
            head = orjson.dumps({"version": VERSION, **condition.document(self._wall())})
            if query.get("since") == str(condition.sequence):
                return head
            if self._state[0] != condition.sequence:
                self._state = condition.sequence, orjson.dumps(self._document(observed))
        return head[:-1] + b"," + self._state[1][1:]

    def pods(self, query: Query) -> bytes | Refusal:
        """Return the pods on a node."""
        observed = self.observed_or_refusal()
        if isinstance(observed, Refusal):
            return observed
        node = observed.snapshot.nodes.get(query.get("node", ""))
        return orjson.dumps({"pods": [pod_row(pod) for pod in (() if node is None else node.pods)]})

    def _document(self, observed: ObservedCluster) -> dict[str, object]:
        snapshot, counting = observed.snapshot, observed.configured.policy.counting
        known = self._rows if self._counting is counting else {}
        rows: dict[str, tuple[NodeInfo, orjson.Fragment]] = {}
        for name, info in snapshot.nodes.items():
            row = known.get(name)
            if row is None or row[0] is not info:
                row = info, orjson.Fragment(orjson.dumps(node_row(info, counting)))
            rows[name] = row
        self._use = PoolUse.of(counting, snapshot, self._use if self._counting is counting else None)
        self._rows, self._counting = rows, counting
        pods = [*map(len, snapshot.pods_on_unknown_nodes.values()), *(len(info.pods) for info, _ in rows.values())]
        return {
            "source": self._source.name,
            "counted": list(counting.on_nodes),
            "pools": [each._asdict() for each in self._use.levels(counting, snapshot)],
            "pods": sum(pods) + len(snapshot.unbound),
            "pending": sum(not pod.terminating for pod in snapshot.unbound.values()),
            "nodes": [row for _, row in rows.values()],
        }
