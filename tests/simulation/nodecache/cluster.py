"""An API server: objects that change, a history that can be watched for a while, restarts, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth.cluster.kubernetes_cluster import OPTIONS
from berth.nodecache.feed.changes import Key, Object
from berth.nodecache.feed.cluster import (
    Added,
    Bookmark,
    Cluster,
    ClusterUnavailable,
    ClusterWatch,
    Deleted,
    Ended,
    Event,
    Expired,
    Interrupted,
    Listed,
    Modified,
    ResourceEvent,
)
from berth.nodecache.feed.head import Position
from tests.simulation.world import EPOCH, Actor, World

RESOURCES = ("nodes", "pods")
WATCH_SECONDS = float(OPTIONS.watch_seconds)
RETRY_SECONDS = 1.0
"""Time in seconds between two attempts of a watch to reach the server."""


@dataclass(frozen=True, slots=True)
class _Happened:
    version: int
    event: Event


class ApiServer:
    """The state of the cluster and its history. `compact` forgets it, as etcd does after five minutes.

    `past` is never forgotten: by resource, the state that a reader of each resourceVersion must have seen.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.uid = "cluster-1"
        self.version = 1
        self.objects: dict[Key, Object] = {}
        self.history: dict[str, list[_Happened]] = {resource: [] for resource in RESOURCES}
        self.past: dict[str, list[tuple[int, Mapping[str, Object]]]] = {resource: [(0, {})] for resource in RESOURCES}
        self.compacted = 0
        self.down = False
        self._watching: list[Actor] = []

    def put(self, resource: str, name: str) -> None:
        kept: Object = {"metadata": {"name": name}, "spec": {"revision": self.version + 1}}
        known = (resource, name) in self.objects
        self.objects[resource, name] = kept
        self._happened(resource, Modified(dict(kept), "") if known else Added(dict(kept), ""))

    def remove(self, resource: str, name: str) -> None:
        """Delete an object if it is there."""
        kept = self.objects.pop((resource, name), None)
        if kept is not None:
            self._happened(resource, Deleted(dict(kept), ""))

    def listed(self, resource: str) -> dict[str, Object]:
        return {name: kept for (kind, name), kept in self.objects.items() if kind == resource}

    def as_of(self, resource: str, version: int) -> Mapping[str, Object]:
        return next(state for at, state in reversed(self.past[resource]) if at <= version)

    def compact(self) -> None:
        """Forget the history: earlier watches expire."""
        self.compacted = self.version
        for history in self.history.values():
            history.clear()
        self._tell()

    def stop(self) -> None:
        """Stop answering; watches break."""
        self.down = True
        self._tell()

    def start(self, *, forgets: bool) -> None:
        """Answer again, without the history if `forgets` is true."""
        self.down = False
        if forgets:
            self.compact()
        self._tell()

    def await_change(self, seconds: float) -> None:
        """Called by a watch: wait for a change, at most for this time."""
        actor = self._world.current()
        self._watching.append(actor)
        self._world.wait(seconds)
        self._watching = [other for other in self._watching if other is not actor]

    def _happened(self, resource: str, event: Added | Modified | Deleted) -> None:
        self.version += 1
        versioned = type(event)(event.object, str(self.version))
        self.history[resource].append(_Happened(self.version, versioned))
        self.past[resource].append((self.version, self.listed(resource)))
        self._tell()

    def _tell(self) -> None:
        for actor in self._watching:
            self._world.wake(actor, self._world.random.uniform(0.001, 0.05))
        self._watching = []


class SimulatedCluster(Cluster):
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
    """Like the watches of cluster/watch: events for changes, a bookmark if only other resources changed, an end."""

    def __init__(self, world: World, server: ApiServer, positions: Mapping[str, Position]) -> None:
        super().__init__(RESOURCES, positions)
        self._world = world
        self._server = server
        self._at = {name: int(positions[name].resource_version) if name in positions else None for name in RESOURCES}
        self._ends_at = dict.fromkeys(RESOURCES, world.now + WATCH_SECONDS)
        self._outage_reported = False

    def stop(self) -> None:
        return None

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        world = self._world
        deadline = world.now + timeout
        while True:
            received = self._received()
            if received or world.now >= deadline:
                self._advance(received)
                return received
            self._server.await_change(max(0.0, min(deadline, *self._ends_at.values()) - world.now))

    def _received(self) -> list[ResourceEvent]:
        now = EPOCH + self._world.now
        if self._server.down:
            reported, self._outage_reported = self._outage_reported, True
            # A watch that broke starts anew.
            self._ends_at = dict.fromkeys(RESOURCES, self._world.now + RETRY_SECONDS + WATCH_SECONDS)
            return [] if reported else [ResourceEvent(resource, now, Interrupted("down")) for resource in RESOURCES]
        self._outage_reported = False
        return [ResourceEvent(resource, now, event) for resource in RESOURCES for event in self._events(resource)]

    def _events(self, resource: str) -> list[Event]:
        server, at = self._server, self._at[resource]
        if at is None:
            self._at[resource] = server.version
            self._ends_at[resource] = self._world.now + WATCH_SECONDS
            return [Listed(tuple(dict(kept) for kept in server.listed(resource).values()), str(server.version))]
        if at < server.compacted:
            self._at[resource] = None
            return [Expired()]
        history = server.history[resource]
        if history and history[-1].version > at:
            happened = [each for each in history if each.version > at]
            # A watch delivers what it has, not always all of it at once.
            happened = happened[: self._world.random.randint(1, 5)]
            self._at[resource] = happened[-1].version
            return [each.event for each in happened]
        if self._world.now < self._ends_at[resource]:
            return []
        self._ends_at[resource] = self._world.now + WATCH_SECONDS
        if server.version == at:
            return [Ended()]
        # Only other resources have changed.
        self._at[resource] = server.version
        return [Bookmark(str(server.version)), Ended()]
