"""A node cache in memory, with a leader that publishes a test's objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from berth.lease.config import LeaderElectionConfig
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.head import Observation, Position
from berth.nodecache.feed.leader import ObservedState
from berth.nodecache.feed.writer import Writer
from berth.scheduling.objects import NodeInfo
from berth_cli.server.store.cache_table import InMemoryCacheTable
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.unit.lease.clocks import EnvironmentClock


class PublishedCluster:
    """A cluster that readers see in `table`. Objects count as observed when they are published, by `clock`."""

    def __init__(self, clock: EnvironmentClock | None = None) -> None:
        self.clock = clock or EnvironmentClock()
        self.item = InMemoryItem()
        self.table = self.new_table(self.item)
        self.pods_version = "1"
        """The resourceVersion of pods that the next publication has reached."""
        self._ids = count(1)
        self._state = ObservedState({})
        self._elector = LeaderElector(
            InMemoryLeaseLock(self.item, self._new_id), LeaderElectionConfig(), "watcher", self.clock, lambda: 0.0
        )
        self._elector.step()
        fence = self._elector.fence()
        assert fence is not None
        self._writer = Writer(
            self.table,
            self._elector,
            None,
            fence.lease_transitions,
            clock=self.clock,
            new_id=self._new_id,
            sleep=self.clock.advance,
        )

    def new_table(self, item: InMemoryItem) -> InMemoryCacheTable:
        return InMemoryCacheTable(item)

    def publish(self, resource: str, objects: Iterable[Object]) -> list[Change]:
        """Publish these as all objects of the resource. Returns the visible changes."""
        self._state.relist(resource, list(objects))
        changes = self._state.take_changes()
        self._elector.step()
        self._writer.flush(changes, self._observation())
        return changes

    def publish_nodes(self, nodes: Iterable[NodeInfo]) -> list[Change]:
        """Publish these as all nodes, with only their names, labels and defects."""
        return self.publish("nodes", map(node_object, nodes))

    def compact(self) -> None:
        """Write a snapshot of all published objects."""
        self._elector.step()
        self._writer.replace((), self._state.objects, self._observation())

    @property
    def objects(self) -> Mapping[Key, Object]:
        return self._state.objects

    def _observation(self) -> Observation:
        now = self.clock.wall()
        return Observation("cluster", {"nodes": Position("1", now, now), "pods": Position(self.pods_version, now, now)})

    def _new_id(self) -> str:
        return f"id-{next(self._ids)}"


def node_object(node: NodeInfo) -> dict[str, object]:
    """Return the node as the watcher keeps it. A defect becomes an invalid label: no other defect can be kept."""
    labels: dict[str, object] = dict(node.labels)
    if node.defect is not None:
        labels["defective"] = 1
    return {"metadata": {"name": node.name, "labels": labels}}
