"""An API server: objects that change, a history that can be watched for a while, restarts, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth.nodecache.cluster import ClusterUnavailable
from berth.nodecache.feed.changes import Key, Object
from berth.nodecache.feed.cluster import Cluster, ClusterWatch
from berth.nodecache.feed.events import (
    Added,
    Bookmark,
    Deleted,
    Event,
    Expired,
    Listed,
    Modified,
    Received,
)
from berth.nodecache.feed.progress import Position, Progress
from tests.simulation.world import EPOCH, World

RESOURCES = ("nodes", "pods")
BOOKMARK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Happened:
    version: int
    resource: str
    event: Event


class ApiServer:
    """The state of the cluster and its history. `compact` forgets it, as etcd does after five minutes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.uid = "cluster-1"
        self.version = 1
        self.objects: dict[Key, Object] = {}
        self.history: list[_Happened] = []
        self.compacted = 0
        self.down = False

    def put(self, resource: str, name: str) -> None:
        """Add an object, or change it."""
        self.version += 1
        kept: Object = {"metadata": {"name": name}, "spec": {"revision": self.version}}
        known = (resource, name) in self.objects
        self.objects[resource, name] = kept
        event = Modified(dict(kept), str(self.version)) if known else Added(dict(kept), str(self.version))
        self.history.append(_Happened(self.version, resource, event))

    def remove(self, resource: str, name: str) -> None:
        """Delete an object if it is there."""
        kept = self.objects.pop((resource, name), None)
        if kept is not None:
            self.version += 1
            self.history.append(_Happened(self.version, resource, Deleted(dict(kept), str(self.version))))

    def compact(self) -> None:
        """Forget the history: watches from before are told that they expired."""
        self.compacted = self.version
        self.history.clear()


class SimulatedCluster(Cluster):
    """The cluster as one watcher reaches it."""

    def __init__(self, world: World, server: ApiServer) -> None:
        self._world = world
        self._server = server

    def uid(self) -> str:
        self._world.pause(0.01)
        if self._server.down:
            raise ClusterUnavailable("down")
        return self._server.uid

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        return _Watch(self._world, self._server, positions)


class _Watch(ClusterWatch):
    def __init__(self, world: World, server: ApiServer, positions: Mapping[str, Position]) -> None:
        self._world = world
        self._server = server
        self._progress = Progress(RESOURCES, positions)
        self._at = {name: int(positions[name].resource_version) if name in positions else None for name in RESOURCES}
        self._bookmark_at = dict.fromkeys(RESOURCES, world.now + BOOKMARK_SECONDS)

    @property
    def positions(self) -> Mapping[str, Position]:
        return self._progress.positions

    @property
    def observed_at(self) -> float | None:
        return self._progress.observed_at

    def stop(self) -> None:
        return None

    def take(self, timeout: float) -> Sequence[Received]:
        deadline = self._world.now + timeout
        while True:
            received = [] if self._server.down else self._received()
            for each in received:
                self._progress.advance(each)
            if received or self._world.now >= deadline:
                self._world.pause()
                return received
            self._world.pause(min(0.1, max(deadline - self._world.now, 0.0)))

    def _received(self) -> list[Received]:
        received: list[Received] = []
        for resource in RESOURCES:
            received += [Received(resource, EPOCH + self._world.now, event) for event in self._events(resource)]
        return received

    def _events(self, resource: str) -> list[Event]:
        server, at = self._server, self._at[resource]
        if at is None or at > server.version:
            self._at[resource] = server.version
            listed = tuple(dict(kept) for (kind, _), kept in server.objects.items() if kind == resource)
            return [Listed(listed, str(server.version))]
        if at < server.compacted:
            self._at[resource] = None
            return [Expired()]
        happened = [each for each in server.history if each.version > at and each.resource == resource]
        # A watch delivers what it has, not always all of it at once.
        happened = happened[: self._world.random.randint(1, 5)]
        if happened:
            self._at[resource] = happened[-1].version
            return [each.event for each in happened]
        if self._world.now >= self._bookmark_at[resource]:
            self._bookmark_at[resource] = self._world.now + BOOKMARK_SECONDS
            self._at[resource] = server.version
            return [Bookmark(str(server.version))]
        return []
