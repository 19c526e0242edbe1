"""A cluster whose watch yields the events that a test hands to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.nodecache.feed.cluster import Added, Cluster, ClusterUnavailable, ClusterWatch, Event, Listed, ResourceEvent
from berth.nodecache.feed.head import Position
from tests.unit.lease.clocks import EnvironmentClock

RESOURCES = ("nodes", "pods")


class ScriptedCluster(Cluster):
    """A scripted cluster. `watched_from`: the positions at which each watch was started."""

    def __init__(self, clock: EnvironmentClock, uid: str = "cluster") -> None:
        self.clock = clock
        self.uid_now = uid
        self.unavailable = ""
        self.watched_from: list[Mapping[str, Position]] = []
        self.stopped = 0
        self._coming: list[ResourceEvent] = []
        self._later: list[tuple[float, str, Event]] = []

    def uid(self) -> str:
        if self.unavailable:
            raise ClusterUnavailable(self.unavailable)
        return self.uid_now

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        self.watched_from.append(dict(positions))
        return ScriptedWatch(self, positions)

    def send(self, resource: str, event: Event) -> None:
        self._coming.append(ResourceEvent(resource, self.clock.wall(), event))

    def send_later(self, seconds: float, resource: str, event: Event) -> None:
        """Send the event after this many seconds."""
        self._later.append((self.clock.monotonic() + seconds, resource, event))

    def list_all(self, *nodes: str) -> None:
        """Send a list of every resource: these nodes, and an empty list of pods."""
        self.send("nodes", Listed(tuple({"metadata": {"name": name}} for name in nodes), "1"))
        self.send("pods", Listed((), "1"))

    def add_node(self, name: str, **fields: object) -> None:
        """Send an event that adds or replaces a node."""
        self.send("nodes", Added({"metadata": {"name": name}, **fields}, "2"))

    def wait(self, timeout: float) -> list[ResourceEvent]:
        """Return the pending events. If there are none, advance the clock to the next event, at most by the timeout."""
        if not self._coming:
            now = self.clock.monotonic()
            due = min([now + timeout, *(at for at, _, _ in self._later)])
            self.clock.advance(max(0.0, due - now))
        now = self.clock.monotonic()
        for at, resource, event in list(self._later):
            if at <= now:
                self._later.remove((at, resource, event))
                self.send(resource, event)
        coming, self._coming = self._coming, []
        return coming


class ScriptedWatch(ClusterWatch):
    def __init__(self, cluster: ScriptedCluster, positions: Mapping[str, Position]) -> None:
        super().__init__(RESOURCES, positions)
        self._cluster = cluster

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        taken = self._cluster.wait(timeout)
        self._advance(taken)
        return taken

    def stop(self) -> None:
        self._cluster.stopped += 1
