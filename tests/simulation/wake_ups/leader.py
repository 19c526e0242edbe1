"""The leader: it publishes the changes that its watches deliver, and the real wake-up follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.head import Observation, Position
from berth.nodecache.feed.leader import ObservedState, Publication
from berth.scheduling.framework.plugin import EVENTS_ON_ONE_NODE
from berth.scheduling.objects.projection import rejected_by_berth
from berth.upkeep.wake_up import SchedulingQueue, WaitingPod, WakeUp
from tests.simulation.world import EPOCH

from .cluster import NODES, PODS, Published, Watch, named

if TYPE_CHECKING:
    from .history import WakeUpHistory

REGISTERED = EVENTS_ON_ONE_NODE


def waiting(obj: Object) -> WaitingPod | None:
    """Return the pod as waiting for every change of a node and its pods if Berth rejected it; otherwise None."""
    return WaitingPod(REGISTERED) if rejected_by_berth(obj) else None


class Queue(SchedulingQueue):
    def __init__(self, history: WakeUpHistory) -> None:
        self._history = history

    def wake(self, waiting: Sequence[str]) -> None:
        history = self._history
        history.world.pause(history.latency())
        if history.random.random() < history.failing:
            raise ClusterUnavailable("connection refused")
        history.world.after(history.latency(), history.scheduler.wake)


class Leader:
    """One leadership: it publishes the changes that its watches deliver, and then wakes pods."""

    def __init__(self, history: WakeUpHistory, published: Published | None) -> None:
        self._history = history
        self._world, self._api, self._plan = history.world, history.api, history.plan
        self._state = ObservedState(published.objects if published is not None else {})
        self._backlog: deque[Change] = deque()
        self._watches = {resource: Watch(self._world, history.latency) for resource in (NODES, PODS)}
        self._pods = published.pods if published is not None else Position("0", 0.0, 0.0)
        self._published = published
        self.has_begun = self._is_over = False

    def end(self) -> None:
        self._is_over = True

    def is_over(self) -> bool:
        return self._is_over

    def run(self) -> None:
        """Publish and wake until the leadership ends, which may be between a publication and its wake-up."""
        if self.is_over():
            return
        self.has_begun = True
        history, world = self._history, self._world
        clock = world.clock(world.current())
        wake_up = WakeUp(Queue(history), waiting, clock, history.warnings.append, self._plan.readable_after)
        self._list()
        self._api.watches = self._watches
        steps = history.start("wake-up", lambda: self._wake(wake_up))
        while not self.is_over():
            world.pause(self._plan.flush)
            self._take()
            changes = [self._backlog.popleft() for _ in range(min(self._plan.batch, len(self._backlog)))]
            position = self._pods
            world.pause(history.write_latency())
            if self.is_over():
                break  # deposed: it does not publish any more
            self._publish(changes, position)
            world.pause(history.latency())
            is_complete = not self._backlog
            observation = Observation("cluster", {PODS: self._history.published.pods})
            wake_up.published(Publication(1, changes, dict(self._state.objects), is_complete, observation, {}))
            world.wake(steps)

    def _wake(self, wake_up: WakeUp) -> None:
        while not self.is_over():
            self._world.wait(wake_up.step())

    def _list(self) -> None:
        """List all objects; those that came and went since the last publication are never seen."""
        now = self._world.now + EPOCH
        self._state.relist(NODES, [named(name, each.projected()) for name, each in self._api.nodes.items()])
        self._state.relist(PODS, [named(name, each.projected()) for name, each in self._api.pods.items()])
        self._pods = Position(str(self._api.version), now, now)

    def _take(self) -> None:
        for resource, watch in self._watches.items():
            while watch.arrived:
                name, obj, version, at = watch.arrived.popleft()
                if obj is None:
                    self._state.remove(resource, named(name, {}))
                else:
                    self._state.put(resource, named(name, obj))
                if resource == PODS:
                    self._pods = replace(self._pods, resource_version=str(version), observed_at=at + EPOCH)
        self._backlog.extend(self._state.take_changes())

    def relist(self) -> None:
        """Replace the expired watch of pods with a watch that begins with a list."""
        self._watches[PODS] = Watch(self._world, self._history.latency)
        self._list()

    def _publish(self, changes: Sequence[Change], position: Position) -> None:
        before = self._history.published
        objects = dict(before.objects)
        for resource, name, obj in changes:
            objects.pop((resource, name), None)
            if obj is not None:
                objects[resource, name] = obj
        # The published position of pods advances only if all their changes are published.
        if self._backlog:
            position = replace(before.pods, listed_at=position.listed_at)
        self._history.published = Published(objects, position)

    def lag(self, seconds: float) -> None:
        """Delay the events of one watch for this time."""
        self._watches[self._history.random.choice((NODES, PODS))].silent_until = self._world.now + seconds
